// Made from docs/source/live-parts.md (51c7103ca313). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** From text to text, and how far to trust it, as in attention_book/generation/. */
import { beamSteps, finish, greedySteps } from "./generation.js";
import { BPETokenizer, isChinese, withDirection } from "./tokenizers.js";
import { readTensors } from "./tensors.js";
import { Transformer } from "./transformer.js";


export class Translator {
  /** From the bytes of a file that attention_book has written. */
  constructor(buffer) {
    const file = readTensors(buffer), [tokenizer] = JSON.parse(file.metadata.tokenizers);
    this.model = new Transformer(file);
    this.tokenizer = new BPETokenizer(JSON.parse(tokenizer));
    this.calibration = JSON.parse(file.metadata.calibration);
  }

  encode(text) {
    return this.tokenizer.encode(withDirection(text));
  }

  /** A translation: its text and token ids, its confidence, and what it lost of the source. */
  translate(...asked) {
    return finish(this.steps(...asked));
  }

  /** The same, step by step. */
  *steps(text, { beamSize = 1, source = this.encode(text), ...options } = {}) {
    const maxLength = 2 * source.length + 16;
    const search = beamSize > 1 ? beamSteps : greedySteps;
    const { tokenIds, logProb } = yield* search(this.model, source, { maxLength, beamSize, ...options });
    const found = this.tokenizer.decode(tokenIds), lost = findLost(text, found, this.tokenizer);
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


/** What should be in a translation and is not: numbers, names, characters the model hardly knows. */
export function findLost(source, text, tokenizer) {
  const toEnglish = isChinese(source), kept = text.toLowerCase();
  const names = source.match(toEnglish ? /[A-Za-z]{2,}/g : /(?<=[\p{L}\p{N}_,] )[A-Z][A-Za-z]+/gu) ?? [];
  const rare = names.filter((word) => toEnglish || tokenizer.encode(word).length >= 3);
  const unknown = [...source].filter((x) =>
    /[\p{L}\p{S}]/u.test(x) && tokenizer.encode(x).length > (isChinese(x) ? 1 : 2));
  const there = new Set(kept.match(/\p{Nd}+|[a-z]+(?:-[a-z]+)*/gu));
  const numbers = (source.match(/\p{Nd}+/gu) ?? []).filter((x) =>
    ![x, ...spelt(x)].some((word) => /^[\x00-\x7f]*$/.test(word) ? there.has(word) : kept.includes(word)));
  const others = [...rare, ...unknown].filter((x) => !kept.includes(x.toLowerCase()));
  return [...new Set([...numbers, ...others])];
}


const ENGLISH = ("zero one two three four five six seven eight nine ten eleven twelve thirteen "
  + "fourteen fifteen sixteen seventeen eighteen nineteen").split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const CHINESE = "零一二三四五六七八九";
const ROUND = { 2: ["两"], 100: ["hundred", "百"], 1000: ["thousand", "千"] };

/** A number in words of both languages, up to 99 and if round. */
function spelt(number) {
  if ([...number].length > 4) return [];
  const n = Number(number.normalize("NFKC")), tens = Math.floor(n / 10), ones = n % 10;
  const words = [...ROUND[n] ?? []];
  if (n >= 100) return words;
  words.push(n < 20 ? ENGLISH[n] : TENS[tens - 2] + (ones ? `-${ENGLISH[ones]}` : ""));
  words.push((tens > 1 ? CHINESE[tens] : "") + (tens ? "十" : "") + (ones || !tens ? CHINESE[ones] : ""));
  return words;
}
