/** Translates away from the page, which stays quick: a model to load, then a question, an answer. */
import { BOS, EOS, largest, logSoftmax } from "./generation.js";
import { Translator } from "./translator.js";

const MOST = 64; // tokens of a source; the longest everyday sentence of the exam has 28
let translator, newest, rested = 0;

onmessage = async ({ data }) => {
  newest = data;
  try {
    const found = data.url ? await load(data.url) : await answer(data);
    if (found) postMessage({ ...found, number: data.number });
  } catch (error) {
    postMessage({ error: error.message, number: data.number });
  }
};


/** Whether a newer question has come; now and then the worker pauses to hear of it. */
async function isOld(question) {
  if (performance.now() - rested > 30) {
    await new Promise((go) => setTimeout(go));
    rested = performance.now();
  }
  return question !== newest;
}


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


/**
 * Translate, and say what every head looked at, and what else each token might have been.
 * Nothing is said if a newer question comes.
 */
async function answer(question) {
  const { text, leftOut = [], beamSize = 1, silent = {}, temperature = 1, isCausal = true } = question;
  const { model, tokenizer } = translator;
  for (const [name, attention] of Object.entries(model.attentions)) {
    attention.silent = new Set(silent[name]);
    attention.temperature = temperature;
  }
  const start = performance.now(), all = translator.encode(text);
  if (all.length > MOST) return { tooLong: all.length, most: MOST };
  const source = all.filter((_, i) => !leftOut.includes(i));
  const steps = translator.steps(text, { source, beamSize, isCausal });
  let step, last = {};
  while (!(step = steps.next()).done) {
    last = step.value;
    if (await isOld(question)) return null;
  }
  const found = step.value, milliseconds = performance.now() - start;

  const { tokenIds } = found, memory = model.encode(source), passes = [], rivals = [];
  const weightsOf = (side) => Object.fromEntries(Object.entries(model.attentions)
    .filter(([name]) => name.startsWith(side))
    .map(([name, attention]) => [name, attention.weights.map(({ data }) => data)]));
  const before = [BOS, ...tokenIds.slice(0, -1)], n = before.length;
  // With the mask one pass computes what all steps did; without it each step had a pass of its own.
  for (let end = isCausal ? n : 1; end <= n; end++) {
    const logits = model.decode(before.slice(0, end), memory, undefined, isCausal);
    if (!isCausal) passes.push(weightsOf("decoder"));
    for (let i = rivals.length; i < end; i++) rivals.push(rivalsOf(tokenIds[i], logits.row(i)));
    if (await isOld(question)) return null;
  }
  const hypotheses = [last.best, ...last.beam ?? []].filter(Boolean).map(({ tokenIds, logProb }) => ({
    text: tokenizer.decode(tokenIds), logProb, hasEnded: tokenIds.at(-1) === EOS }));
  return { ...found, milliseconds, weights: weightsOf(""), passes, rivals, hypotheses,
    all: all.map(show), source: source.map(show), target: tokenIds.map(show) };
}


/** A token that was written, then the most probable others. */
function rivalsOf(id, logits) {
  const logProbs = logSoftmax(logits);
  const others = largest(logProbs, 5).filter((other) => other !== id).slice(0, 4);
  return [id, ...others].map((id) => ({ token: show(id), probability: Math.exp(logProbs[id]) }));
}


/** A token as a reader sees it; a piece of a character as its bytes. */
function show(id) {
  const piece = translator.tokenizer.pieces[id];
  if (id < translator.tokenizer.nSpecial) return piece;
  const bytes = Uint8Array.from(piece, (c) => c.charCodeAt(0));
  const text = new TextDecoder().decode(bytes);
  return text.includes("\ufffd") ? [...bytes].map((byte) => byte.toString(16)).join(" ") : text;
}
