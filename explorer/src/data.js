// Unpacks what retgk.explorer.drawings packed: base64 of deflated bytes, a header and arrays.

const TYPES = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  f32: Float32Array,
};

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

export async function unpacked(text) {
  const stream = new Blob([bytesOf(text)]).stream();
  const block = await new Response(stream.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  const length = new DataView(block).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(block, 4, length)));
  const arrays = {};
  for (const [name, { type, at, length: size }] of Object.entries(header.arrays)) {
    arrays[name] = new TYPES[type](block, 4 + length + at, size);
  }
  return { header, arrays };
}
