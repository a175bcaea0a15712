// Made from docs/source/live-parts.md (0eaf07cddbc9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** Texts to token ids and back, as in attention_book/tokenizers/. */

const BETWEEN = "\u0100"; // no byte
const HAN = "\\u3400-\\u4dbf\\u4e00-\\u9fff";
const LETTER = "[\\p{L}\\p{Nl}\\p{No}]";
const PARTS = new RegExp(
  `'(?:[sdmt]|ll|re|ve)(?!${LETTER})` // the end of Tom's or don't
  + `|[${HAN}]` // a Chinese character
  + `| ?(?:(?![${HAN}])${LETTER})+` // a word, with the space before it
  + "| ?\\p{Nd}|.", // a digit; anything else
  "gsu");
export const isChinese = (text) => new RegExp(`[${HAN}]`).test(text);


/** Pieces of words as tokens, found by byte-pair encoding. A piece is its bytes, each a character. */
export class BPETokenizer {
  constructor({ merges, prefixes }) {
    this.ranks = new Map(merges.map((pair, rank) => [pair.join(BETWEEN), rank]));
    this.prefixes = prefixes;
    const single = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
    const special = ["<pad>", "<bos>", "<eos>", ...prefixes];
    this.nSpecial = special.length;
    this.pieces = [...special, ...new Set([...single, ...merges.map((pair) => pair.join(""))])];
    this.tokenIds = new Map(this.pieces.map((piece, id) => [piece, id]).slice(this.nSpecial));
  }

  encode(text) {
    const prefix = this.prefixes.find((prefix) => text.startsWith(prefix)) ?? "";
    const first = prefix ? [this.nSpecial - this.prefixes.length + this.prefixes.indexOf(prefix)] : [];
    text = text.slice(prefix.length);
    const before = !text || isChinese([...text][0]) ? "" : " ";
    const parts = (before + text).match(PARTS) ?? [];
    return [...first, ...parts.flatMap((part) => this.cut(part))];
  }

  /** Join the two pieces that were merged first in training, wherever they meet, again and again. */
  cut(part) {
    let row = [...new TextEncoder().encode(part)].map((byte) => String.fromCharCode(byte));
    for (;;) {
      const ranks = row.slice(1).map((piece, i) => this.ranks.get(row[i] + BETWEEN + piece) ?? Infinity);
      const best = Math.min(...ranks);
      if (best === Infinity) return row.map((piece) => this.tokenIds.get(piece));
      const at = ranks.indexOf(best), first = row[at], second = row[at + 1];
      const merged = [row[0]];
      for (const piece of row.slice(1)) {
        if (merged.at(-1) === first && piece === second) merged[merged.length - 1] += piece;
        else merged.push(piece);
      }
      row = merged;
    }
  }

  decode(tokenIds) {
    const end = tokenIds.indexOf(2);
    const ids = (end < 0 ? tokenIds : tokenIds.slice(0, end)).filter((id) => id >= this.nSpecial);
    const bytes = Uint8Array.from(ids.map((id) => this.pieces[id]).join(""), (c) => c.charCodeAt(0));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).replace(/^ /, "");
  }
}


/** A source as the model reads it: Chinese is to become English, all else Chinese. */
export function withDirection(text) {
  if (!/^<2(en|zh)>/.test(text)) text = `${isChinese(text) ? "<2en>" : "<2zh>"}${text}`;
  const latin = "[A-Za-z\\p{Nd}]";
  return text.replace(
    new RegExp(`(?<=[${HAN}])(?=${latin})|(?<=${latin})(?=[${HAN}])`, "gu"), " ");
}
