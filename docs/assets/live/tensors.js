// Made from docs/fast/browser.md (963ac54b2903). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** Matrices, and the safetensors files that hold them, as in attention_book/io/tensors.py. */


/** Numbers in rows, one row after the other. */
export class Matrix {
  constructor(rows, columns, data = new Float32Array(rows * columns)) {
    Object.assign(this, { rows, columns, data });
  }

  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns);
  }

  /** Another matrix of the same shape: change(number, column, row) of each number. */
  map(change) {
    const { rows, columns, data } = this;
    return new Matrix(rows, columns, data.map((x, i) => change(x, i % columns, i / columns | 0)));
  }

  plus(other) {
    return new Matrix(this.rows, this.columns, this.data.map((x, i) => x + other.data[i]));
  }

  /** These rows, and below them those of another. */
  above(other) {
    const all = new Matrix(this.rows + other.rows, other.columns);
    all.data.set(this.data);
    all.data.set(other.data, this.data.length);
    return all;
  }
}


/** What a safetensors file holds: matrices by name (a vector is a single row), and its texts. */
export function readTensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  const { __metadata__: metadata, ...found } = header;
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [start, end] }] of Object.entries(found)) {
    const data = toFloats(dtype, buffer.slice(8 + size + start, 8 + size + end));
    const columns = shape[shape.length - 1];
    tensors[name] = new Matrix(data.length / columns, columns, data);
  }
  for (const name of Object.keys(tensors).filter((name) => found[name].dtype === "I8")) {
    const scales = tensors[`${name}.scale`].data; // a number for each row
    tensors[name] = tensors[name].map((x, column, row) => x * scales[row]);
  }
  return { tensors, metadata };
}


function toFloats(dtype, bytes) {
  if (dtype === "F32") return new Float32Array(bytes);
  if (dtype === "F16") return Float32Array.from(new Uint16Array(bytes), fromHalf);
  if (dtype === "I8") return Float32Array.from(new Int8Array(bytes));
  throw new Error(`wanted numbers of type F32, F16 or I8, got ${dtype}`);
}


/** A number of 16 bits: one of sign, 5 of exponent, 10 of fraction. */
function fromHalf(bits) {
  const sign = bits >> 15 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}
