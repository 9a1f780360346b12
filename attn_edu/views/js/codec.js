// How numbers travel from Python to the page: deflate, then base64 (see payload.py).

/** Numbers from raw little-endian bytes. `u2` holds square roots of [0, 1]; `u1` places in a table of levels, 255 = NaN. */
export function decode(part, buffer) {
  const codes = new Uint8Array(buffer);
  switch (part.kind) {
    case "f4":
      return new Float32Array(buffer);
    case "f8":
      return new Float64Array(buffer);
    case "u2":
      return Float32Array.from(new Uint16Array(buffer), (c) => (c / 65535) ** 2);
    case "u1":
      return Float32Array.from(codes, (c) => (c === 255 ? NaN : part.levels[c]));
    case "bits": {
      const size = part.shape.reduce((a, b) => a * b, 1);
      return Uint8Array.from({ length: size }, (_, i) => (codes[i >> 3] >> (7 - (i & 7))) & 1);
    }
    default:
      throw new Error(`unknown kind of payload: ${part.kind}`);
  }
}

/** One part of a payload, `{kind, shape, data}`, as `{shape, values, digits}`: digits that are sure. */
export async function unpack(part) {
  if (!part) return null;
  const packed = Uint8Array.from(atob(part.data), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  return {
    shape: part.shape,
    values: decode(part, buffer),
    digits: { u1: 2, u2: 3 }[part.kind] ?? 4,
  };
}
