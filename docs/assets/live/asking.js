/** Questions to the worker that translates: it is started, and fetches its model, at the first one. */
import { pick } from "./page.js";

const MODEL = new URL("../../../models/everyday.safetensors", import.meta.url);


export class Asker {
  /** progress(share) while the model is fetched, then answer(found) or fail(why). */
  constructor({ progress, answer, fail }) {
    Object.assign(this, { progress, answer, fail, waits: null, isBusy: false, isReady: false, worker: null });
  }

  /** Ask; of questions that wait only the last is answered. */
  ask(question) {
    this.waits = question;
    if (!this.worker) this.begin();
    else this.next();
  }

  begin() {
    this.isBusy = true;
    this.progress(0);
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
    if ("share" in data) return this.progress(data.share);
    if (data.error && !this.isReady) return this.stop(data.error);
    this.isBusy = false;
    if (data.ready) this.isReady = true;
    else if (data.error) this.fail(data.error);
    else if (!this.waits) this.answer(data);
    this.next();
  }

  /** Without its model a worker is of no use; the next question starts another. */
  stop(why) {
    this.worker?.terminate();
    Object.assign(this, { worker: null, isBusy: false, isReady: false });
    this.fail(why);
  }

  next() {
    if (this.isBusy || !this.waits) return;
    this.isBusy = true;
    this.worker.postMessage(this.waits);
    this.waits = null;
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
  return { text: found.text.slice(0, 200), ...Object.fromEntries(sound.map(([key]) => [key, found[key]])) };
}


/** The end of a link that asks for this. */
export function share({ text, beamSize, silent, temperature, isCausal, leftOut, name, head }) {
  return `#${encodeURIComponent(JSON.stringify({ text, beamSize, silent, temperature, isCausal, leftOut, name, head }))}`;
}
