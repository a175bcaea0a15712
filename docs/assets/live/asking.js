/** Questions to the worker that translates: it is started, and fetches its model, at the first one. */

const MODEL = new URL("../../../models/everyday.safetensors", import.meta.url);


export class Asker {
  /** progress(share) while the model is fetched, then answer(found) or fail(why). */
  constructor({ progress, answer, fail }) {
    Object.assign(this, { progress, answer, fail, id: 0, waits: null, isBusy: false });
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
    this.worker = new Worker(new URL("translate_worker.js", import.meta.url), { type: "module" });
    this.worker.onerror = () => this.fail("worker");
    this.worker.onmessage = ({ data }) => {
      if ("share" in data) return this.progress(data.share);
      this.isBusy = false;
      if (data.error) this.fail(data.error);
      else if (!data.ready && !this.waits) this.answer(data);
      this.next();
    };
    this.worker.postMessage({ url: MODEL.href });
  }

  next() {
    if (this.isBusy || !this.waits) return;
    this.isBusy = true;
    this.worker.postMessage({ ...this.waits, id: ++this.id });
    this.waits = null;
  }
}


/** What a shared link asks for. */
export function asked() {
  try {
    return JSON.parse(decodeURIComponent(location.hash.slice(1)) || "{}");
  } catch {
    return {}; // the hash is a heading's
  }
}


/** The end of a link that asks for this. */
export function share({ text, beamSize, silent, temperature, isCausal, leftOut, name, head }) {
  return `#${encodeURIComponent(JSON.stringify({ text, beamSize, silent, temperature, isCausal, leftOut, name, head }))}`;
}
