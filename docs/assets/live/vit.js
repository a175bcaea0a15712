// Made from docs/source/live-parts.md (7b7fecc8874a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** The Vision Transformer of attention_book/models/vit.py, and its rollout. */
import { EncoderLayer, LayerNorm, Linear } from "./layers.js";
import { Matrix } from "./tensors.js";


/** Cut a square image into smaller ones, row by row, each a row of numbers. */
export function patchify(image, size) {
  const grid = image.columns / size;
  return new Matrix(grid * grid, size * size).map((_, pixel, patch) => {
    const row = Math.floor(patch / grid) * size + Math.floor(pixel / size);
    return image.data[row * image.columns + patch % grid * size + pixel % size];
  });
}


const ERF = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];

/** x Φ(x), a smooth ReLU; Φ by Abramowitz and Stegun (1964), 7.1.26. */
export function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const series = ERF.reduce((sum, coefficient) => (sum + coefficient) * t, 0);
  const above = series * Math.exp(-z * z) / 2; // 1 − Φ(|x|)
  return x * (x > 0 ? 1 - above : above);
}


/** From an image to the logits of its classes, by the mean of all patches. */
export class ViT {
  /** From a file that a Classifier has written, with labels and threshold. */
  constructor({ tensors, metadata }) {
    const config = JSON.parse(metadata.config);
    const { n_layers: depth, n_heads: nHeads, eps } = config;
    this.config = config;
    this.labels = JSON.parse(metadata.labels);
    this.threshold = Number(metadata.threshold);
    this.embed = new Linear(tensors, "model.embed");
    this.positions = tensors["model.positions.table"];
    const options = { activation: gelu, eps };
    this.encoder = Array.from({ length: depth }, (_, i) =>
      new EncoderLayer(tensors, `model.encoder.layers.${i}`, nHeads, options));
    this.norm = new LayerNorm(tensors, "model.encoder.norm", eps);
    this.head = new Linear(tensors, "model.head");
  }

  /** Embed the patches, add positions. */
  tokens(image) {
    const { image_size: side, patch_size: size } = this.config;
    const patches = patchify(new Matrix(side, side, image), size);
    return this.embed.forward(patches).plus(this.positions);
  }

  forward(image) {
    const tokens = this.tokens(image);
    const x = this.encoder.reduce((x, layer) => layer.forward(x), tokens);
    return this.head.forward(mean(this.norm.forward(x))).data;
  }

  /** How much of each patch is in the mean of the last call, by rollout. */
  rollout() {
    return mean(attentionRollout(mixingMatrices(this))).data;
  }
}


function mean(x) {
  const sum = new Matrix(1, x.columns);
  x.data.forEach((value, i) => { sum.data[i % x.columns] += value / x.rows });
  return sum;
}


/** How each layer last mixed tokens: ½ A + ½ I, where A is its heads' mean. */
export function mixingMatrices(model) {
  return model.encoder.map(({ selfAttention: { weights } }) => {
    const mix = weights.reduce((sum, head) => sum.plus(head));
    return mix.map((sum, j, i) => (sum / weights.length + (i === j)) / 2);
  });
}


/** The product of all mixing matrices: how much of each token ends in each. */
export function attentionRollout(mixing) {
  return mixing.reduce((rollout, mix) => {
    const next = new Matrix(mix.rows, rollout.columns);
    mix.data.forEach((share, place) => {
      const row = next.row(Math.floor(place / mix.columns));
      const from = rollout.row(place % mix.columns);
      for (let j = 0; j < row.length; j++) row[j] += share * from[j];
    });
    return next;
  });
}
