// Made from docs/fast/browser.md (781a0d083860). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** The layers of a Transformer, under the names they have in attention_book. */
import { Matrix } from "./tensors.js";


/** x Wᵀ + b, eight columns at a time: what is fetched of x serves them all. */
export class Linear {
  constructor(tensors, name) {
    this.weight = tensors[`${name}.weight`];
    this.bias = tensors[`${name}.bias`]?.data;
  }

  forward(x) {
    const { rows: n, columns: d, data: w } = this.weight;
    const y = new Matrix(x.rows, n);
    for (let i = 0; i < x.rows; i++) {
      const input = x.row(i), output = y.row(i);
      for (let j = 0; j < n; j += 8) {
        let s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
        for (let k = 0, at = j * d; k < d; k++, at++) {
          const value = input[k];
          s0 += value * w[at], s1 += value * w[at + d];
          s2 += value * w[at + 2 * d], s3 += value * w[at + 3 * d];
          s4 += value * w[at + 4 * d], s5 += value * w[at + 5 * d];
          s6 += value * w[at + 6 * d], s7 += value * w[at + 7 * d];
        }
        output.set([s0, s1, s2, s3, s4, s5, s6, s7].slice(0, n - j), j);
      }
    }
    return this.bias ? y.map((value, column) => value + this.bias[column]) : y;
  }
}


export class LayerNorm {
  constructor(tensors, name, eps = 1e-5) {
    this.weight = tensors[`${name}.weight`].data;
    this.bias = tensors[`${name}.bias`].data;
    this.eps = eps;
  }

  forward(x) {
    const y = new Matrix(x.rows, x.columns);
    for (let i = 0; i < x.rows; i++) {
      const row = x.row(i);
      const mean = average(row);
      const variance = average(row.map((value) => (value - mean) ** 2));
      const scale = 1 / Math.sqrt(variance + this.eps);
      y.row(i).set(row.map((value, j) =>
        (value - mean) * scale * this.weight[j] + this.bias[j]));
    }
    return y;
  }
}


const average = (row) => row.reduce((sum, value) => sum + value, 0) / row.length;


/** Turn scores into weights that sum to 1; -Infinity weighs nothing. */
export function softmax(scores) {
  const largest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}


/** The keys and values of one layer so far. */
export class KeyValueCache {
  constructor(key = null, value = null) {
    Object.assign(this, { key, value });
  }

  get length() {
    return this.key?.rows ?? 0;
  }

  append(kv) {
    this.key = this.key ? this.key.above(kv.key) : kv.key;
    this.value = this.value ? this.value.above(kv.value) : kv.value;
    return this;
  }

  copy() {
    return new KeyValueCache(this.key, this.value);
  }
}


/** Multi-head attention; a reader may temper its softmax, or silence heads. */
export class MultiHeadAttention {
  constructor(tensors, name, nHeads) {
    this.qProj = new Linear(tensors, `${name}.q_proj`);
    this.kvProj = new Linear(tensors, `${name}.kv_proj`);
    this.outProj = new Linear(tensors, `${name}.out_proj`);
    this.nHeads = nHeads;
    this.temperature = 1;
    this.silent = new Set();
    this.weights = []; // of each head in the last call: a row for each query
  }

  keysAndValues(memory) {
    const both = this.kvProj.forward(memory), d = both.columns / 2;
    const key = new Matrix(both.rows, d), value = new Matrix(both.rows, d);
    for (let i = 0; i < both.rows; i++) {
      key.row(i).set(both.row(i).subarray(0, d));
      value.row(i).set(both.row(i).subarray(d));
    }
    return { key, value };
  }

  /** Let queries attend to keys; a causal one sees none after its place. */
  attend(query, { key, value }, isCausal) {
    const d = query.columns, dK = d / this.nHeads;
    const heads = new Matrix(query.rows, d);
    const scale = 1 / Math.sqrt(dK) / this.temperature;
    this.weights = [];
    for (let h = 0; h < this.nHeads; h++) {
      const weights = new Matrix(query.rows, key.rows);
      const start = h * dK, end = start + dK;
      for (let i = 0; i < query.rows; i++) {
        const q = query.row(i), head = heads.row(i);
        const seen = isCausal ? key.rows - query.rows + i + 1 : key.rows;
        const scores = new Float32Array(key.rows).fill(-Infinity);
        for (let j = 0; j < seen; j++) {
          const k = key.row(j);
          let score = 0;
          for (let c = start; c < end; c++) score += q[c] * k[c];
          scores[j] = score * scale;
        }
        const row = softmax(scores);
        weights.row(i).set(row);
        for (let j = 0; j < seen && !this.silent.has(h); j++) {
          const v = value.row(j);
          for (let c = start; c < end; c++) head[c] += row[j] * v[c];
        }
      }
      this.weights.push(weights);
    }
    return heads;
  }

  /** Let x attend to memory (keys and values), or to itself and the cache. */
  forward(x, { memory, cache, isCausal = false } = {}) {
    const query = this.qProj.forward(x);
    const kv = memory ?? this.keysAndValues(x);
    const heads = this.attend(query, cache ? cache.append(kv) : kv, isCausal);
    if (this.silent.size < this.nHeads) return this.outProj.forward(heads);
    return new Matrix(x.rows, x.columns); // the bias is silent, too
  }
}


export class FeedForward {
  constructor(tensors, name, activation = relu) {
    this.upProj = new Linear(tensors, `${name}.up_proj`);
    this.downProj = new Linear(tensors, `${name}.down_proj`);
    this.activation = activation;
  }

  forward(x) {
    return this.downProj.forward(this.upProj.forward(x).map(this.activation));
  }
}


export const relu = (x) => Math.max(0, x);


/** x + sublayer(LayerNorm(x)). */
export class PreNorm {
  constructor(tensors, name, eps) {
    this.norm = new LayerNorm(tensors, `${name}.norm`, eps);
  }

  forward(x, sublayer) {
    return x.plus(sublayer(this.norm.forward(x)));
  }
}


export class EncoderLayer {
  constructor(tensors, name, nHeads, { activation, eps } = {}) {
    const of = (part) => [tensors, `${name}.${part}`];
    this.selfAttention = new MultiHeadAttention(...of("self_attention"), nHeads);
    this.feedForward = new FeedForward(...of("feed_forward"), activation);
    this.residuals = [0, 1].map((n) => new PreNorm(...of(`residuals.${n}`), eps));
  }

  forward(x) {
    const [addAttention, addFeedForward] = this.residuals;
    x = addAttention.forward(x, (y) => this.selfAttention.forward(y));
    return addFeedForward.forward(x, (y) => this.feedForward.forward(y));
  }
}


export class DecoderLayer {
  constructor(tensors, name, nHeads) {
    const of = (part) => [tensors, `${name}.${part}`];
    this.selfAttention = new MultiHeadAttention(...of("self_attention"), nHeads);
    this.crossAttention =
      new MultiHeadAttention(...of("cross_attention"), nHeads);
    this.feedForward = new FeedForward(...of("feed_forward"));
    this.residuals = [0, 1, 2].map((n) => new PreNorm(...of(`residuals.${n}`)));
  }

  forward(x, memory, cache, isCausal = true) {
    const [addSelf, addCross, addFeedForward] = this.residuals;
    const past = { cache, isCausal };
    x = addSelf.forward(x, (y) => this.selfAttention.forward(y, past));
    x = addCross.forward(x, (y) => this.crossAttention.forward(y, { memory }));
    return addFeedForward.forward(x, (y) => this.feedForward.forward(y));
  }
}
