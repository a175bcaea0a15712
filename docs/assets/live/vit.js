// Made from docs/source/live-parts.md (98b0a8b9af40). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** The Vision Transformer, as in attention_book/models/vit.py, and what rollout says of it. */
import { EncoderLayer, LayerNorm, Linear } from "./layers.js";
import { Matrix } from "./tensors.js";


/** Cut a square image into smaller squares, row by row, each as one row of numbers. */
export function patchify(image, size) {
  const grid = image.columns / size;
  return new Matrix(grid * grid, size * size).map((_, pixel, patch) => {
    const row = Math.floor(patch / grid) * size + Math.floor(pixel / size);
    return image.data[row * image.columns + patch % grid * size + pixel % size];
  });
}


/** x Φ(x), a smooth ReLU. Φ is by Abramowitz and Stegun (1964), 7.1.26, to within 1e-7. */
export function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592]
    .reduce((sum, coefficient) => (sum + coefficient) * t, 0);
  const above = series * Math.exp(-z * z) / 2; // how much of a normal distribution is above |x|
  return x * (x > 0 ? 1 - above : above);
}


/** From an image to the logits of its classes; the mean of all patches is classified. */
export class ViT {
  /** From a file that attention_book has written; Classifier keeps labels and threshold in it. */
  constructor({ tensors, metadata }) {
    const config = JSON.parse(metadata.config), { n_layers: depth, n_heads: nHeads, eps } = config;
    this.config = config;
    this.labels = JSON.parse(metadata.labels);
    this.threshold = Number(metadata.threshold);
    this.embed = new Linear(tensors, "model.embed");
    this.positions = tensors["model.positions.table"];
    this.encoder = Array.from({ length: depth }, (_, i) =>
      new EncoderLayer(tensors, `model.encoder.layers.${i}`, nHeads, { activation: gelu, eps }));
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
    const x = this.encoder.reduce((x, layer) => layer.forward(x), this.tokens(image));
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


/** How each layer mixed tokens in the last call: ½ A + ½ I, where A is the mean of its heads. */
export function mixingMatrices(model) {
  return model.encoder.map(({ selfAttention: { weights } }) => {
    const mix = weights.reduce((sum, head) => sum.plus(head));
    return mix.map((sum, j, i) => (sum / weights.length + (i === j)) / 2);
  });
}


/** How much of each token is in each, after all layers: the product of their mixing matrices. */
export function attentionRollout(mixing) {
  return mixing.reduce((rollout, mix) => {
    const next = new Matrix(mix.rows, rollout.columns);
    mix.data.forEach((share, place) => {
      const row = next.row(Math.floor(place / mix.columns)), from = rollout.row(place % mix.columns);
      for (let j = 0; j < row.length; j++) row[j] += share * from[j];
    });
    return next;
  });
}
