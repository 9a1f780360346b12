// How numbers travel from Python to the page: deflate, then base64 (see payload.py).

/** Numbers from raw little-endian bytes. `u1` holds places in a table of levels, 255 = NaN. */
export function decode(part, buffer) {
  const codes = new Uint8Array(buffer);
  switch (part.kind) {
    case "f4": return new Float32Array(buffer);
    case "f8": return new Float64Array(buffer);
    case "u1": return Float32Array.from(codes, (c) => (c === 255 ? NaN : part.levels[c]));
    case "bits": {
      const size = part.shape.reduce((a, b) => a * b, 1);
      return Uint8Array.from({ length: size }, (_, i) => (codes[i >> 3] >> (7 - (i & 7))) & 1);
    }
    default: throw new Error(`unknown kind of payload: ${part.kind}`);
  }
}

/** One part of a payload, `{kind, shape, data}`, as `{shape, values, exact}`. */
export async function unpack(part) {
  if (!part) return null;
  const packed = Uint8Array.from(atob(part.data), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  return { shape: part.shape, values: decode(part, buffer), exact: part.kind[0] === "f" };
}
