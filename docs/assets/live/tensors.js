// Made from docs/fast/browser.md (f691a534ebf8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** Matrices, and the files that hold them, as in attention_book/io/tensors.py. */


/** Numbers in rows, one row after the other. */
export class Matrix {
  constructor(rows, columns, data = new Float32Array(rows * columns)) {
    Object.assign(this, { rows, columns, data });
  }

  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns);
  }

  /** Of the same shape, change(number, column, row) in place of each number. */
  map(change) {
    const { rows, columns, data } = this;
    const changed = data.map((x, i) => change(x, i % columns, i / columns | 0));
    return new Matrix(rows, columns, changed);
  }

  plus(other) {
    const sums = this.data.map((x, i) => x + other.data[i]);
    return new Matrix(this.rows, this.columns, sums);
  }

  /** These rows, and below them those of another. */
  above(other) {
    const all = new Matrix(this.rows + other.rows, other.columns);
    all.data.set(this.data);
    all.data.set(other.data, this.data.length);
    return all;
  }
}


/** What a file holds: matrices by name (a vector is a single row), and texts. */
export function readTensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const header = new TextDecoder().decode(new Uint8Array(buffer, 8, size));
  const { __metadata__: metadata, ...found } = JSON.parse(header);
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(found)) {
    const [start, end] = data_offsets.map((offset) => 8 + size + offset);
    const data = toFloats(dtype, buffer.slice(start, end));
    const columns = shape[shape.length - 1];
    tensors[name] = new Matrix(data.length / columns, columns, data);
  }
  for (const [name, { dtype }] of Object.entries(found)) {
    if (dtype !== "I8") continue;
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
  const sign = bits >> 15 ? -1 : 1, exponent = bits >> 10 & 31;
  const fraction = (bits & 1023) / 1024;
  if (!exponent) return sign * 2 ** -14 * fraction;
  return sign * 2 ** (exponent - 15) * (1 + fraction);
}
