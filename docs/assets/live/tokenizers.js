// Made from docs/source/live-parts.md (0e9d3efbaf4a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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


/** Pieces of words by byte-pair encoding, each its bytes as characters. */
export class BPETokenizer {
  constructor({ merges, prefixes }) {
    const pairs = merges.map((pair) => pair.join(BETWEEN));
    this.ranks = new Map(pairs.map((pair, rank) => [pair, rank]));
    this.prefixes = prefixes;
    const special = ["<pad>", "<bos>", "<eos>", ...prefixes];
    this.nSpecial = special.length;
    const bytes = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i));
    const joined = merges.map((pair) => pair.join(""));
    this.pieces = [...special, ...new Set([...bytes, ...joined])];
    const entries = this.pieces.map((piece, id) => [piece, id]);
    this.tokenIds = new Map(entries.slice(this.nSpecial));
  }

  encode(text) {
    const prefix = this.prefixes.find((each) => text.startsWith(each)) ?? "";
    const first = prefix ? [this.pieces.indexOf(prefix)] : [];
    text = text.slice(prefix.length);
    const before = !text || isChinese([...text][0]) ? "" : " ";
    const parts = (before + text).match(PARTS) ?? [];
    return [...first, ...parts.flatMap((part) => this.cut(part))];
  }

  /** Join the pair that training merged first, everywhere, again and again. */
  cut(part) {
    const bytes = [...new TextEncoder().encode(part)];
    let row = bytes.map((byte) => String.fromCharCode(byte));
    for (;;) {
      const pairs = row.slice(1).map((piece, i) => row[i] + BETWEEN + piece);
      const ranks = pairs.map((pair) => this.ranks.get(pair) ?? Infinity);
      const best = Math.min(...ranks);
      if (best === Infinity) break;
      const at = ranks.indexOf(best), first = row[at], second = row[at + 1];
      const merged = [row[0]];
      for (const piece of row.slice(1)) {
        const isPair = merged.at(-1) === first && piece === second;
        if (isPair) merged[merged.length - 1] += piece;
        else merged.push(piece);
      }
      row = merged;
    }
    return row.map((piece) => this.tokenIds.get(piece));
  }

  decode(tokenIds) {
    const end = tokenIds.indexOf(2);
    const before = end < 0 ? tokenIds : tokenIds.slice(0, end);
    const ids = before.filter((id) => id >= this.nSpecial);
    const pieces = ids.map((id) => this.pieces[id]);
    const bytes = Uint8Array.from(pieces.join(""), (c) => c.charCodeAt(0));
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return decoder.decode(bytes).replace(/^ /, "");
  }
}


/** A source as the model reads it: Chinese to English, all else to Chinese. */
export function withDirection(text) {
  const direction = isChinese(text) ? "<2en>" : "<2zh>";
  if (!/^<2(en|zh)>/.test(text)) text = direction + text;
  const han = `[${HAN}]`, latin = "[A-Za-z\\p{Nd}]";
  const seam = `(?<=${han})(?=${latin})|(?<=${latin})(?=${han})`;
  return text.replace(new RegExp(seam, "gu"), " ");
}
