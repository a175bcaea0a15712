// Made from docs/source/live-parts.md (96850ea06c52). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** The model of docs/source/circuits.md, its gradients written by hand. */
import { Matrix } from "./tensors.js";

export const N_TOKENS = 32; // in the vocabulary, and in a row
export const D_MODEL = 64, N_LAYERS = 2, N_HEADS = 2;


/** Aᵀ. */
export function transpose({ rows, columns, data }) {
  const turned = new Matrix(columns, rows);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      turned.data[j * rows + i] = data[i * columns + j];
    }
  }
  return turned;
}


/** AB, two rows and columns at a time; each number fetched is used twice. */
export function multiply(left, right) {
  const { rows, columns: width, data: a } = left;
  const { rows: columns, data: b } = transpose(right);
  if (rows % 2 || columns % 2) {
    throw new Error(`cannot cut ${rows} × ${columns} into 2 × 2`);
  }
  const product = new Matrix(rows, columns), c = product.data;
  for (let i = 0; i < rows; i += 2) {
    for (let j = 0; j < columns; j += 2) {
      const p = i * width, q = p + width, r = j * width, s = r + width;
      let e = 0, f = 0, g = 0, h = 0;
      for (let k = 0; k < width; k++) {
        const u = a[p + k], v = a[q + k], x = b[r + k], y = b[s + k];
        e += u * x, f += u * y, g += v * x, h += v * y;
      }
      const above = i * columns + j, below = above + columns;
      c[above] = e, c[above + 1] = f, c[below] = g, c[below + 1] = h;
    }
  }
  return product;
}


/** The block of a matrix that begins at a row and column. */
function cut(matrix, row, column, rows, columns) {
  const block = new Matrix(rows, columns);
  for (let i = 0; i < rows; i++) {
    block.row(i).set(matrix.row(row + i).subarray(column, column + columns));
  }
  return block;
}


/** Write a block into a matrix, from a row and column on. */
function paste(matrix, row, column, block) {
  for (let i = 0; i < block.rows; i++) {
    matrix.row(row + i).set(block.row(i), column);
  }
}


/** A += B, whose rows begin again where they are fewer. */
function add(matrix, { data }) {
  const sums = matrix.data, n = data.length;
  for (let i = 0; i < sums.length; i++) sums[i] += data[i % n];
  return matrix;
}


/** Σ over the rows, of each column. */
function sumRows({ rows, columns, data }) {
  const sums = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) sums[j] += data[i * columns + j];
  }
  return new Matrix(1, columns, Float32Array.from(sums));
}


export class Linear {
  constructor(tensors, name) {
    this.weight = tensors[`${name}.weight`];
    this.bias = tensors[`${name}.bias`];
  }

  /** y = x Wᵀ + b. */
  forward(x) {
    this.x = x;
    return add(multiply(x, transpose(this.weight)), this.bias);
  }

  /** dW = dyᵀ x, db = Σ dy, dx = dy W. */
  backward(dy) {
    this.weight.grad = multiply(transpose(dy), this.x);
    this.bias.grad = sumRows(dy);
    return multiply(dy, this.weight);
  }
}


export class LayerNorm {
  constructor(tensors, name) {
    this.weight = tensors[`${name}.weight`];
    this.bias = tensors[`${name}.bias`];
  }

  /** z = (x − mean) / √(variance + ε), y = γ z + β. */
  forward(x) {
    const n = x.columns;
    const z = new Matrix(x.rows, n), y = new Matrix(x.rows, n);
    this.z = z, this.scales = new Float64Array(x.rows);
    for (let i = 0; i < x.rows; i++) {
      const row = x.row(i);
      let mean = 0, variance = 0;
      for (let j = 0; j < n; j++) mean += row[j] / n;
      for (let j = 0; j < n; j++) variance += (row[j] - mean) ** 2 / n;
      const scale = this.scales[i] = 1 / Math.sqrt(variance + 1e-5);
      for (let j = 0, at = i * n; j < n; j++, at++) {
        z.data[at] = (row[j] - mean) * scale;
        y.data[at] = z.data[at] * this.weight.data[j] + this.bias.data[j];
      }
    }
    return y;
  }

  /**
   * dγ = Σ dy z, dβ = Σ dy, dz = γ dy,
   * dx = (dz − mean(dz) − z mean(z dz)) / √(variance + ε).
   */
  backward(dy) {
    const { z, scales } = this, n = z.columns;
    const dx = new Matrix(z.rows, n), byZ = new Matrix(z.rows, n);
    for (let i = 0; i < z.rows; i++) {
      let mean = 0, along = 0;
      for (let j = 0, at = i * n; j < n; j++, at++) {
        const dz = dx.data[at] = dy.data[at] * this.weight.data[j];
        byZ.data[at] = dy.data[at] * z.data[at];
        mean += dz / n, along += dz * z.data[at] / n;
      }
      for (let at = i * n; at < (i + 1) * n; at++) {
        dx.data[at] = (dx.data[at] - mean - z.data[at] * along) * scales[i];
      }
    }
    this.weight.grad = sumRows(byZ);
    this.bias.grad = sumRows(dy);
    return dx;
  }
}


/** w = softmax(scale · s) in each row, up to the diagonal. */
function causalSoftmax(scores, scale) {
  const weights = new Matrix(scores.rows, scores.columns);
  for (let i = 0; i < scores.rows; i++) {
    const s = scores.row(i), w = weights.row(i);
    let largest = -Infinity, sum = 0;
    for (let j = 0; j <= i; j++) largest = Math.max(largest, s[j]);
    for (let j = 0; j <= i; j++) {
      const power = Math.exp(scale * (s[j] - largest));
      w[j] = power;
      sum += power;
    }
    for (let j = 0; j <= i; j++) w[j] /= sum;
  }
  return weights;
}


/** ds = scale · w (dw − Σ w dw) in each row; where the mask hides, w is 0. */
function softmaxBackward(weights, dWeights, scale) {
  const dScores = new Matrix(weights.rows, weights.columns);
  for (let i = 0; i < weights.rows; i++) {
    const w = weights.row(i), dw = dWeights.row(i), ds = dScores.row(i);
    let mean = 0;
    for (let j = 0; j <= i; j++) mean += w[j] * dw[j];
    for (let j = 0; j <= i; j++) ds[j] = scale * w[j] * (dw[j] - mean);
  }
  return dScores;
}


export class MultiHeadAttention {
  constructor(tensors, name) {
    this.qProj = new Linear(tensors, `${name}.q_proj`);
    this.kvProj = new Linear(tensors, `${name}.kv_proj`);
    this.outProj = new Linear(tensors, `${name}.out_proj`);
    this.silent = new Set(); // heads to leave out, when measuring
  }

  /** W = softmax(Q Kᵀ / √d_k), H = W V, for each head of each row of tokens. */
  forward(x, length) {
    const d = x.columns, dK = d / N_HEADS, scale = 1 / Math.sqrt(dK);
    const heads = new Matrix(x.rows, d);
    const queries = this.qProj.forward(x), both = this.kvProj.forward(x);
    this.seen = [];
    for (let row = 0; row < x.rows; row += length) {
      for (let h = 0; h < N_HEADS; h++) {
        const column = h * dK;
        const query = cut(queries, row, column, length, dK);
        const key = cut(both, row, column, length, dK);
        const value = cut(both, row, d + column, length, dK);
        const scores = multiply(query, transpose(key));
        const weights = causalSoftmax(scores, scale);
        this.seen.push({ row, column, query, key, value, weights });
        if (this.silent.has(h)) continue;
        paste(heads, row, column, multiply(weights, value));
      }
    }
    if (this.silent.size === N_HEADS) return heads; // the bias is silent, too
    return this.outProj.forward(heads);
  }

  /** dV = Wᵀ dH, dW = dH Vᵀ, dS from dW by softmax, dQ = dS K, dK = dSᵀ Q. */
  backward(dy) {
    const d = dy.columns, dK = d / N_HEADS, scale = 1 / Math.sqrt(dK);
    const dHeads = this.outProj.backward(dy);
    const dQueries = new Matrix(dy.rows, d), dBoth = new Matrix(dy.rows, 2 * d);
    for (const { row, column, query, key, value, weights } of this.seen) {
      const dHead = cut(dHeads, row, column, weights.rows, dK);
      const dWeights = multiply(dHead, transpose(value));
      const dScores = softmaxBackward(weights, dWeights, scale);
      paste(dQueries, row, column, multiply(dScores, key));
      paste(dBoth, row, column, multiply(transpose(dScores), query));
      paste(dBoth, row, d + column, multiply(transpose(weights), dHead));
    }
    return add(this.qProj.backward(dQueries), this.kvProj.backward(dBoth));
  }
}


/** Embeddings, x + attention(LayerNorm(x)) twice, LayerNorm, logits. */
export class AttentionOnly {
  constructor(tensors) {
    this.tensors = tensors;
    this.tokens = tensors["tokens.weight"];
    this.positions = tensors["positions.table"];
    this.layers = [], this.norms = [];
    for (let i = 0; i < N_LAYERS; i++) {
      this.layers.push(new MultiHeadAttention(tensors, `layers.${i}`));
      this.norms.push(new LayerNorm(tensors, `residuals.${i}.norm`));
    }
    this.norm = new LayerNorm(tensors, "head.0");
    this.linear = new Linear(tensors, "head.1");
  }

  /** Logits for the token after each of ids, which are rows of this length. */
  forward(ids, length = N_TOKENS) {
    const { tokens, positions } = this;
    let x = new Matrix(ids.length, D_MODEL);
    ids.forEach((id, i) => x.row(i).set(tokens.row(id)));
    add(x, cut(positions, 0, 0, length, D_MODEL));
    this.layers.forEach((layer, i) => {
      x = add(layer.forward(this.norms[i].forward(x), length), x);
    });
    Object.assign(this, { ids, length });
    return this.linear.forward(this.norm.forward(x));
  }

  /** y = x + f(x) hands dy to x and f; a table's row sums dx over its uses. */
  backward(dLogits) {
    const { tokens, positions } = this;
    let dx = this.norm.backward(this.linear.backward(dLogits));
    for (let i = N_LAYERS - 1; i >= 0; i--) {
      dx = add(this.norms[i].backward(this.layers[i].backward(dx)), dx);
    }
    tokens.grad = new Matrix(tokens.rows, D_MODEL);
    positions.grad = new Matrix(positions.rows, D_MODEL);
    for (let i = 0; i < dx.rows; i++) {
      const token = tokens.grad.row(this.ids[i]);
      const position = positions.grad.row(i % this.length);
      dx.row(i).forEach((slope, j) => {
        token[j] += slope;
        position[j] += slope;
      });
    }
  }
}


/**
 * The mean of −log p of each next token, where p = softmax(z);
 * dz = (p − 1 at that token) / n.
 */
export function crossEntropy(logits, ids, length = N_TOKENS) {
  const n = ids.length - ids.length / length; // a row's last has none after it
  const dLogits = new Matrix(logits.rows, logits.columns);
  let loss = 0;
  for (let i = 0; i < logits.rows; i++) {
    if ((i + 1) % length === 0) continue;
    const z = logits.row(i), dz = dLogits.row(i), largest = Math.max(...z);
    const sum = z.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
    loss += (Math.log(sum) + largest - z[ids[i + 1]]) / n;
    for (let j = 0; j < z.length; j++) {
      dz[j] = Math.exp(z[j] - largest) / sum / n;
    }
    dz[ids[i + 1]] -= 1 / n;
  }
  return { loss, dLogits };
}


/**
 * θ ← (1 − lr λ) θ − lr m̂ / (√v̂ + ε);
 * m̂ and v̂ are running means of g and g², corrected.
 */
export class AdamW {
  constructor(tensors, {
    lr = 3e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0.01,
  } = {}) {
    Object.assign(this, { lr, betas, eps, weightDecay, n: 0 });
    this.tensors = Object.values(tensors);
    const zeros = ({ data }) => new Float32Array(data.length);
    this.means = this.tensors.map(zeros);
    this.squares = this.tensors.map(zeros);
  }

  step() {
    const { lr, betas: [b, c], eps, weightDecay } = this;
    this.n++;
    const first = 1 - b ** this.n; // as both means begin at 0
    const second = 1 - c ** this.n;
    this.tensors.forEach(({ data, grad: { data: g } }, t) => {
      const m = this.means[t], v = this.squares[t];
      for (let i = 0; i < data.length; i++) {
        m[i] = b * m[i] + (1 - b) * g[i];
        v[i] = c * v[i] + (1 - c) * g[i] ** 2;
        data[i] *= 1 - lr * weightDecay;
        data[i] -= lr * m[i] / first / (Math.sqrt(v[i] / second) + eps);
      }
    });
  }
}


/** One step of training; the loss before it. */
export function train(model, optimizer, { ids }) {
  const { loss, dLogits } = crossEntropy(model.forward(ids), ids);
  model.backward(dLogits);
  optimizer.step();
  return loss;
}
