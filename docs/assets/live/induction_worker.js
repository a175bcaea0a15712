/** The model of induction.js, which learns here so that the page stays quick. */
import { initialise, makeRepeats, measure, seeded } from "./repeats.js";
import { AdamW, AttentionOnly, train } from "./training.js";

const BATCH = 32, TESTED = 64; // rows of tokens
const PERIOD = 8; // of the row to look at, which is shown up to its second end
let model, optimizer, random, test, row;


const tasks = {
  /** A new model, and rows that it will not learn from. */
  begin(seed) {
    random = seeded(seed);
    model = new AttentionOnly(initialise(random));
    optimizer = new AdamW(model.tensors);
    const other = seeded(1000 + seed);
    test = makeRepeats(TESTED, other);
    do row = makeRepeats(1, other); while (row.periods[0] !== PERIOD);
    return [...row.ids.subarray(0, 2 * PERIOD)];
  },

  step() {
    return train(model, optimizer, makeRepeats(BATCH, random));
  },

  /** Scores of the whole model, and without the silent heads of each layer. */
  measure(silent) {
    const whole = measure(model, test);
    const isWhole = silent.flat().length === 0;
    return { whole, changed: isWhole ? whole : without(silent, () => measure(model, test)) };
  },

  /** What each head of each layer looks at in one row, and the next tokens that come out. */
  look(silent) {
    return without(silent, () => {
      const logits = model.forward(row.ids.subarray(0, 2 * PERIOD), 2 * PERIOD);
      const next = Array.from({ length: logits.rows }, (_, i) => logits.row(i))
        .map((z) => z.indexOf(Math.max(...z)));
      const heads = model.layers.flatMap(({ seen }) => seen);
      return { next, weights: heads.map(({ weights }) => weights.data) };
    });
  },
};


/** Do something while heads are silent. */
function without(silent, act) {
  model.layers.forEach((layer, i) => { layer.silent = new Set(silent[i]) });
  const found = act();
  model.layers.forEach((layer) => layer.silent.clear());
  return found;
}


self.onmessage = ({ data: { task, given } }) => postMessage(tasks[task](given));
