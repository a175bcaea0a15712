// Made from docs/source/live-parts.md (ec2cc0ad9ddd). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** Rows that repeat, and how well they are copied: docs/source/circuits.md. */
import { D_MODEL, N_HEADS, N_LAYERS, N_TOKENS } from "./training.js";
import { Matrix } from "./tensors.js";


/** Random numbers from 0 to 1, the same for the same seed: mulberry32. */
export function seeded(seed) {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let bits = Math.imul(seed ^ seed >>> 15, seed | 1);
    bits ^= bits + Math.imul(bits ^ bits >>> 7, bits | 61);
    return ((bits ^ bits >>> 14) >>> 0) / 2 ** 32;
  };
}


/** As PyTorch begins: tables normal, of deviation 1 and ½, Linear ±1/√width. */
export function initialise(random) {
  const normal = () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    return radius * Math.cos(2 * Math.PI * random());
  };
  const filled = (rows, columns, draw) => {
    const data = Float32Array.from({ length: rows * columns }, draw);
    return new Matrix(rows, columns, data);
  };
  const tensors = {
    "tokens.weight": filled(N_TOKENS, D_MODEL, normal),
    "positions.table": filled(N_TOKENS, D_MODEL, () => normal() / 2),
  };
  const linear = (name, rows) => {
    const draw = () => (2 * random() - 1) / Math.sqrt(D_MODEL);
    tensors[`${name}.weight`] = filled(rows, D_MODEL, draw);
    tensors[`${name}.bias`] = filled(1, rows, draw);
  };
  const norm = (name) => {
    tensors[`${name}.weight`] = filled(1, D_MODEL, () => 1);
    tensors[`${name}.bias`] = filled(1, D_MODEL, () => 0);
  };
  for (let i = 0; i < N_LAYERS; i++) {
    linear(`layers.${i}.q_proj`, D_MODEL);
    linear(`layers.${i}.kv_proj`, 2 * D_MODEL);
    linear(`layers.${i}.out_proj`, D_MODEL);
    norm(`residuals.${i}.norm`);
  }
  norm("head.0");
  linear("head.1", N_TOKENS);
  return tensors;
}


/** Rows of 8 to 16 random tokens, all different, which then begin again. */
export function makeRepeats(n, random) {
  const ids = new Uint8Array(n * N_TOKENS), periods = [];
  for (let row = 0; row < n; row++) {
    const period = 8 + Math.floor(9 * random());
    const shuffled = Array.from({ length: N_TOKENS }, (_, id) => id);
    for (let i = 0; i < period; i++) {
      const other = i + Math.floor((N_TOKENS - i) * random());
      [shuffled[i], shuffled[other]] = [shuffled[other], shuffled[i]];
    }
    const start = row * N_TOKENS;
    for (let i = 0; i < N_TOKENS; i++) ids[start + i] = shuffled[i % period];
    periods.push(period);
  }
  return { ids, periods };
}


/**
 * Accuracy in the repeats; by layer and head, weights on the token before,
 * and prefix matching.
 */
export function measure(model, { ids, periods }) {
  const logits = model.forward(ids);
  const scores = () => model.layers.map(() => new Array(N_HEADS).fill(0));
  const previous = scores(), prefix = scores();
  const nRows = periods.length;
  const nAgain = periods.reduce((sum, period) => sum + N_TOKENS - period, 0);
  let right = 0;
  for (let row = 0; row < nRows; row++) {
    const tokens = ids.subarray(row * N_TOKENS, (row + 1) * N_TOKENS);
    for (let i = periods[row]; i < N_TOKENS; i++) {
      const z = logits.row(row * N_TOKENS + i - 1);
      right += z.indexOf(Math.max(...z)) === tokens[i];
    }
    model.layers.forEach(({ seen }, layer) => {
      for (let h = 0; h < N_HEADS; h++) {
        const { weights } = seen[row * N_HEADS + h];
        for (let i = 1; i < N_TOKENS; i++) {
          const w = weights.row(i);
          previous[layer][h] += w[i - 1] / nRows / (N_TOKENS - 1);
          if (i < periods[row]) continue;
          for (let j = 1; j <= i; j++) {
            if (tokens[j - 1] === tokens[i]) prefix[layer][h] += w[j] / nAgain;
          }
        }
      }
    });
  }
  return { accuracy: right / nAgain, previous, prefix };
}
