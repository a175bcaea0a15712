// Made from docs/source/live-parts.md (940b8e7fafaa). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** Text to text, and how far to trust it, as in attention_book/generation/. */
import { beamSteps, finish, greedySteps } from "./generation.js";
import { BPETokenizer, isChinese, withDirection } from "./tokenizers.js";
import { readTensors } from "./tensors.js";
import { Transformer } from "./transformer.js";


export class Translator {
  /** From the bytes of a file that attention_book has written. */
  constructor(buffer) {
    const file = readTensors(buffer);
    const [tokenizer] = JSON.parse(file.metadata.tokenizers);
    this.model = new Transformer(file);
    this.tokenizer = new BPETokenizer(JSON.parse(tokenizer));
    this.calibration = JSON.parse(file.metadata.calibration);
  }

  encode(text) {
    return this.tokenizer.encode(withDirection(text));
  }

  /** A translation: its text, token ids and confidence, and what it lost. */
  translate(...asked) {
    return finish(this.steps(...asked));
  }

  /** The same, step by step. */
  *steps(text, { beamSize = 1, source = this.encode(text), ...options } = {}) {
    const asked = { maxLength: 2 * source.length + 16, beamSize, ...options };
    const search = beamSize > 1 ? beamSteps : greedySteps;
    const { tokenIds, logProb } = yield* search(this.model, source, asked);
    const found = this.tokenizer.decode(tokenIds);
    const lost = findLost(text, found, this.tokenizer);
    const confidence = calibrate(logProb / tokenIds.length, this.calibration);
    const isSure = confidence >= this.calibration.threshold && !lost.length;
    return { text: found, source, tokenIds, confidence, isSure, lost };
  }
}


/** How likely a translation is right: σ(scale · ln(p / (1 - p)) + offset). */
export function calibrate(meanLogProb, { scale, offset }) {
  const p = Math.min(Math.exp(meanLogProb), 1 - 1e-6);
  return 1 / (1 + Math.exp(-scale * (meanLogProb - Math.log1p(-p)) - offset));
}


/** What a translation lacks: numbers, names, characters hardly known. */
export function findLost(source, text, tokenizer) {
  const toEnglish = isChinese(source), kept = text.toLowerCase();
  const name = toEnglish
    ? /[A-Za-z]{2,}/g
    : /(?<=[\p{L}\p{N}_,] )[A-Z][A-Za-z]+/gu;
  const isRare = (word) => toEnglish || tokenizer.encode(word).length >= 3;
  const names = (source.match(name) ?? []).filter(isRare);
  const unknown = [...source].filter((x) => {
    const most = isChinese(x) ? 1 : 2; // a space goes before all but Chinese
    return /[\p{L}\p{S}]/u.test(x) && tokenizer.encode(x).length > most;
  });
  const there = new Set(kept.match(/\p{Nd}+|[a-z]+(?:-[a-z]+)*/gu));
  const isThere = (word) =>
    /^[\x00-\x7f]*$/.test(word) ? there.has(word) : kept.includes(word);
  const numbers = (source.match(/\p{Nd}+/gu) ?? []).filter((x) =>
    ![x, ...spelt(x)].some(isThere));
  const others = [...names, ...unknown].filter((x) =>
    !kept.includes(x.toLowerCase()));
  return [...new Set([...numbers, ...others])];
}


const ENGLISH = ("zero one two three four five six seven eight nine "
  + "ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
  + "eighteen nineteen").split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const CHINESE = "零一二三四五六七八九";
const ROUND = { 2: ["两"], 100: ["hundred", "百"], 1000: ["thousand", "千"] };

/** A number in words of both languages, up to 99 and if round. */
function spelt(number) {
  if ([...number].length > 4) return [];
  const n = Number(number.replace(/\p{Nd}/gu, worth));
  const tens = Math.floor(n / 10), ones = n % 10;
  const words = [...ROUND[n] ?? []];
  if (n >= 100) return words;
  const english = TENS[tens - 2] + (ones ? `-${ENGLISH[ones]}` : "");
  words.push(n < 20 ? ENGLISH[n] : english);
  const before = tens > 1 ? CHINESE[tens] : "";
  const last = ones || !tens ? CHINESE[ones] : "";
  words.push(before + (tens ? "十" : "") + last);
  return words;
}

/** What a digit of any script is worth: they follow each other from 0 on. */
function worth(digit) {
  const at = digit.normalize("NFKC").codePointAt(0);
  const isDigit = (code) => /\p{Nd}/u.test(String.fromCodePoint(code));
  let value = 0;
  while (isDigit(at - value - 1)) value++;
  return value;
}
