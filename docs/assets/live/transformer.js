// Made from docs/fast/browser.md (38830d4624d4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** The whole Transformer, as in attention_book/models/transformer.py. */
import { DecoderLayer, EncoderLayer } from "./layers.js";
import { KeyValueCache, LayerNorm, Linear } from "./layers.js";
import { Matrix } from "./tensors.js";


/** Token embeddings, times √d_model, plus sines and cosines of positions. */
export class Embedding {
  constructor(tensors, name) {
    this.table = tensors[`${name}.tokens.weight`];
  }

  forward(tokenIds, offset = 0) {
    const d = this.table.columns, x = new Matrix(tokenIds.length, d);
    tokenIds.forEach((id, i) => x.row(i).set(this.table.row(id)));
    return x.map((value, j, i) => {
      const angle = (offset + i) * 10_000 ** (-(j - j % 2) / d);
      return value * Math.sqrt(d) + (j % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  }
}


const KNOWN = {
  norm: "pre", feed_forward: "relu", positions: "sinusoidal",
  share_embeddings: true, n_kv_heads: null,
};


export class Transformer {
  /** From what readTensors found in a file that attention_book has written. */
  constructor({ tensors, metadata }) {
    const config = JSON.parse(metadata.config);
    const { n_layers: depth, n_heads: nHeads } = config;
    for (const [name, wanted] of Object.entries(KNOWN)) {
      const got = config[name];
      if (got !== wanted) throw new Error(`wanted ${name} ${wanted}, got ${got}`);
    }
    this.config = config;
    this.embedding = new Embedding(tensors, "model.target_embedding");
    this.output = new Linear({ "output.weight": this.embedding.table }, "output");
    const stack = (Layer, side, n) => Array.from({ length: n }, (_, i) =>
      new Layer(tensors, `model.${side}.layers.${i}`, nHeads));
    this.encoder = stack(EncoderLayer, "encoder", depth);
    const nDecoder = config.n_decoder_layers ?? depth;
    this.decoder = stack(DecoderLayer, "decoder", nDecoder);
    this.encoderNorm = new LayerNorm(tensors, "model.encoder.norm");
    this.decoderNorm = new LayerNorm(tensors, "model.decoder.norm");
  }

  /** The source as keys and values, for each decoder layer. */
  encode(source) {
    const x = this.embedding.forward(source);
    const read = this.encoder.reduce((x, layer) => layer.forward(x), x);
    const memory = this.encoderNorm.forward(read);
    const attentions = this.decoder.map((layer) => layer.crossAttention);
    return attentions.map((attention) => attention.keysAndValues(memory));
  }

  /** The logits after each token of the target; caches hold the tokens before. */
  decode(target, memory, caches = this.emptyCaches(), isCausal = true) {
    const x = this.decoder.reduce(
      (x, layer, i) => layer.forward(x, memory[i], caches[i], isCausal),
      this.embedding.forward(target, caches[0].length));
    return this.output.forward(this.decoderNorm.forward(x));
  }

  /** Each multi-head attention, by the name that attention_book gives it. */
  get attentions() {
    const entries = this.encoder.map((layer, i) =>
      [`encoder.layers.${i}.self_attention`, layer.selfAttention]);
    this.decoder.forEach((layer, i) => entries.push(
      [`decoder.layers.${i}.self_attention`, layer.selfAttention],
      [`decoder.layers.${i}.cross_attention`, layer.crossAttention]));
    return Object.fromEntries(entries);
  }

  emptyCaches() {
    return this.decoder.map(() => new KeyValueCache());
  }
}
