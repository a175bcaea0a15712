/** Questions to the worker that translates: it is started, and fetches its model, at the first one. */
import { pick } from "./page.js";

const MODEL = new URL("../../../models/everyday.safetensors", import.meta.url);


export class Asker {
  /**
   * While the model is fetched, move(share) at each piece and progress(share) at each quarter;
   * wait() when an answer takes long; then answer(found), refuse(why) or fail(why).
   */
  constructor({ progress, answer, fail, refuse = fail, move = () => {}, wait = () => {} }) {
    Object.assign(this, { progress, answer, fail, refuse, move, wait });
    Object.assign(this, { question: null, asked: 0, isReady: false, worker: null });
  }

  /** Ask; only the newest question is answered. */
  ask(question) {
    this.question = { ...question, number: ++this.asked };
    if (!this.worker) this.begin();
    else if (this.isReady) this.send();
  }

  /** Want no answer any more. */
  drop() {
    clearTimeout(this.late);
    this.question = null;
  }

  begin() {
    this.told = -1;
    this.load(0);
    try {
      this.worker = new Worker(new URL("translate_worker.js", import.meta.url), { type: "module" });
    } catch (error) {
      return this.stop(error.message);
    }
    this.worker.onerror = () => this.stop(pick("后台程序没有启动 | its worker did not start"));
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.postMessage({ url: MODEL.href });
  }

  hear(data) {
    if ("share" in data) return this.load(data.share);
    if (data.error && !this.isReady) return this.stop(data.error);
    if (data.ready) {
      this.isReady = true;
      return this.question && this.send();
    }
    if (data.number !== this.question?.number) return;
    const { tooLong: n, most } = data;
    this.drop();
    if (data.error) this.fail(data.error);
    else if (n) this.refuse(pick(`这里一次最多读 ${most} 个词元，这段话有 ${n} 个。 | At most ${most} tokens are read here at a time, and this text has ${n}.`));
    else this.answer(data);
  }

  /** Screen readers hear of a quarter, not of each piece. */
  load(share) {
    const quarter = Math.floor(4 * share) / 4;
    this.move(share);
    if (quarter > this.told) this.progress(this.told = quarter);
  }

  /** Without its model a worker is of no use; the next question starts another. */
  stop(why) {
    this.worker?.terminate();
    clearTimeout(this.late);
    Object.assign(this, { worker: null, isReady: false });
    this.fail(why);
  }

  send() {
    clearTimeout(this.late);
    this.late = setTimeout(this.wait, 300);
    this.worker.postMessage(this.question);
  }
}


const NAME = /^(encoder\.layers\.[0-5]\.self_attention|decoder\.layers\.[01]\.(self|cross)_attention)$/;
const isHead = (x) => [0, 1, 2, 3].includes(x);
const KNOWN = {
  beamSize: (x) => [1, 2, 4, 8].includes(x),
  temperature: (x) => [0.25, 0.5, 1, 2, 4].includes(x),
  isCausal: (x) => typeof x === "boolean",
  leftOut: (x) => Array.isArray(x) && x.every(Number.isInteger),
  name: (x) => NAME.test(x),
  head: isHead,
  silent: (x) => typeof x === "object" && x !== null && Object.entries(x).every(
    ([name, heads]) => NAME.test(name) && Array.isArray(heads) && heads.every(isHead)),
};

/** What a shared link asks for; nothing where the hash is a heading's, or makes no sense. */
export function asked() {
  let found;
  try {
    found = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return {};
  }
  if (typeof found?.text !== "string") return {};
  const sound = Object.entries(KNOWN).filter(([key, isSound]) => isSound(found[key]));
  return { text: found.text.slice(0, 500), ...Object.fromEntries(sound.map(([key]) => [key, found[key]])) };
}


/** The end of a link that asks for this. */
export function share({ text, beamSize, silent, temperature, isCausal, leftOut, name, head }) {
  return `#${encodeURIComponent(JSON.stringify({ text, beamSize, silent, temperature, isCausal, leftOut, name, head }))}`;
}
