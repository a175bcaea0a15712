/** Translates away from the page, which stays quick: a model to load, then a question, an answer. */
import { BOS, EOS, largest, logSoftmax } from "./generation.js";
import { Translator } from "./translator.js";

let translator;

onmessage = async ({ data }) => {
  try {
    postMessage(data.url ? await load(data.url) : answer(data));
  } catch (error) {
    postMessage({ error: error.message });
  }
};


/** Fetch the model, and say how far that is. */
async function load(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${url}`);
  const total = Number(response.headers.get("content-length")), parts = [];
  let done = 0;
  for (const reader = response.body.getReader();;) {
    const { value } = await reader.read();
    if (!value) break;
    parts.push(value);
    done += value.length;
    postMessage({ share: total ? Math.min(1, done / total) : 0 });
  }
  translator = new Translator(await new Blob(parts).arrayBuffer());
  return { ready: true };
}


/** Translate, and say what every head looked at, and what else each token might have been. */
function answer({ text, leftOut = [], beamSize = 1, silent = {}, temperature = 1, isCausal = true }) {
  const { model, tokenizer } = translator;
  for (const [name, attention] of Object.entries(model.attentions)) {
    attention.silent = new Set(silent[name]);
    attention.temperature = temperature;
  }
  const start = performance.now(), all = translator.encode(text);
  const source = all.filter((_, i) => !leftOut.includes(i)), beams = [];
  const see = ({ beam, best }) => beams.push([best, ...beam].filter(Boolean));
  const found = translator.translate(text, { source, beamSize, isCausal, ...beamSize > 1 ? { see } : {} });
  const milliseconds = performance.now() - start;

  const { tokenIds } = found, memory = model.encode(source), weights = {};
  const keep = (side) => Object.entries(model.attentions).forEach(([name, attention]) => {
    if (name.startsWith(side)) weights[name] = attention.weights.map(({ data }) => data);
  });
  keep("encoder");
  const before = [BOS, ...tokenIds.slice(0, -1)];
  const logits = model.decode(before, memory, undefined, isCausal);
  keep("decoder");
  const rivals = tokenIds.map((id, i) => {
    // Without the mask a row has seen what was written later: compute it as it was then.
    const then = isCausal ? logits : model.decode(before.slice(0, i + 1), memory, undefined, false);
    const logProbs = logSoftmax(then.row(i));
    const others = largest(logProbs, 5).filter((other) => other !== id).slice(0, 4);
    return [id, ...others].map((id) => ({ token: show(id), probability: Math.exp(logProbs[id]) }));
  });
  const hypotheses = (beams.at(-1) ?? []).map(({ tokenIds, logProb }) => ({
    text: tokenizer.decode(tokenIds), logProb, hasEnded: tokenIds.at(-1) === EOS }));
  return { ...found, milliseconds, weights, rivals, hypotheses,
    all: all.map(show), source: source.map(show), target: tokenIds.map(show) };
}


/** A token as a reader sees it; a piece of a character as its bytes. */
function show(id) {
  const piece = translator.tokenizer.pieces[id];
  if (id < translator.tokenizer.nSpecial) return piece;
  const bytes = Uint8Array.from(piece, (c) => c.charCodeAt(0));
  const text = new TextDecoder().decode(bytes);
  return text.includes("\ufffd") ? [...bytes].map((byte) => byte.toString(16)).join(" ") : text;
}
