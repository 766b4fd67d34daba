// The part of MessagePack that the protocol uses: nil, booleans, whole numbers up to 2^53, texts and
// arrays, and bytes, which only the server sends. Anything else is an error. tests/vectors/msgpack.json
// makes sure that it agrees with the server's codec.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Return a value as bytes (Uint8Array). Throws TypeError for what the protocol does not use. */
export function encode(value) {
  const out = [];
  put(out, value);
  return new Uint8Array(out);
}

function put(out, value) {
  if (value === null) out.push(0xc0);
  else if (typeof value === 'boolean') out.push(value ? 0xc3 : 0xc2);
  else if (Number.isSafeInteger(value)) putNumber(out, value);
  else if (typeof value === 'string') {
    const bytes = encoder.encode(value), n = bytes.length;
    if (n < 32) out.push(0xa0 + n);
    else if (n < 256) out.push(0xd9, n);
    else if (n < 65536) out.push(0xda, n >> 8, n & 255);
    else throw new TypeError('a text is too long for the protocol');
    for (const byte of bytes) out.push(byte);
  } else if (Array.isArray(value) && value.length < 65536) {
    const n = value.length;
    if (n < 16) out.push(0x90 + n);
    else out.push(0xdc, n >> 8, n & 255);
    for (const item of value) put(out, item);
  } else throw new TypeError(`the protocol has no ${typeof value}`);
}

function putNumber(out, n) {
  if (n >= 0) {
    if (n < 128) out.push(n);
    else if (n < 256) out.push(0xcc, n);
    else if (n < 65536) out.push(0xcd, n >> 8, n & 255);
    else if (n < 2 ** 32) out.push(0xce, n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255);
    else putLong(out, 0xcf, n);
  } else if (n >= -32) out.push(n + 256);
  else if (n >= -128) out.push(0xd0, n + 256);
  else if (n >= -32768) out.push(0xd1, ((n + 65536) >> 8) & 255, n & 255);
  else if (n >= -(2 ** 31)) {
    out.push(0xd2, (n >> 24) & 255, (n >> 16) & 255, (n >> 8) & 255, n & 255);
  } else putLong(out, 0xd3, n);
}

function putLong(out, head, n) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, BigInt(n));
  out.push(head);
  for (let i = 0; i < 8; i++) out.push(view.getUint8(i));
}

/** Return the value in an ArrayBuffer. Bytes become a Uint8Array that is a view of this buffer, not a
 * copy. Throws RangeError if it is not exactly one value. */
export function decode(buffer) {
  const reader = new Reader(buffer);
  let value;
  try {
    value = reader.take();
  } catch (error) {
    throw new RangeError(`not the protocol's MessagePack: ${error}`);
  }
  if (reader.at !== buffer.byteLength) throw new RangeError('more than one value');
  return value;
}

class Reader {
  constructor(buffer) {
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    this.at = 0;
  }

  take() {
    if (this.at >= this.bytes.length) throw new RangeError('it ends too soon');
    const head = this.bytes[this.at++];
    if (head < 0x80) return head;
    if (head >= 0xe0) return head - 256;
    if (head >= 0xa0 && head < 0xc0) return this.text(head - 0xa0);
    if (head >= 0x90 && head < 0xa0) return this.array(head - 0x90);
    const at = this.at;
    switch (head) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: this.at += 1; return this.slice(this.view.getUint8(at));
      case 0xc5: this.at += 2; return this.slice(this.view.getUint16(at));
      case 0xc6: this.at += 4; return this.slice(this.view.getUint32(at));
      case 0xcc: this.at += 1; return this.view.getUint8(at);
      case 0xcd: this.at += 2; return this.view.getUint16(at);
      case 0xce: this.at += 4; return this.view.getUint32(at);
      case 0xcf: this.at += 8; return this.long(this.view.getBigUint64(at));
      case 0xd0: this.at += 1; return this.view.getInt8(at);
      case 0xd1: this.at += 2; return this.view.getInt16(at);
      case 0xd2: this.at += 4; return this.view.getInt32(at);
      case 0xd3: this.at += 8; return this.long(this.view.getBigInt64(at));
      case 0xd9: this.at += 1; return this.text(this.view.getUint8(at));
      case 0xda: this.at += 2; return this.text(this.view.getUint16(at));
      case 0xdc: this.at += 2; return this.array(this.view.getUint16(at));
      case 0xdd: this.at += 4; return this.array(this.view.getUint32(at));
      default: throw new RangeError(`byte 0x${head.toString(16)} begins nothing known`);
    }
  }

  long(big) {
    const number = Number(big);
    if (!Number.isSafeInteger(number)) throw new RangeError('a number is over 2^53');
    return number;
  }

  text(length) {
    return decoder.decode(this.slice(length));
  }

  slice(length) {
    const start = this.at, end = start + length;
    if (end > this.bytes.length) throw new RangeError('it ends too soon');
    this.at = end;
    return this.bytes.subarray(start, end);
  }

  array(length) {
    // Each item has at least one byte, so a false length is found before memory is used for it.
    if (length > this.bytes.length - this.at) throw new RangeError('it ends too soon');
    const items = [];
    for (let i = 0; i < length; i++) items.push(this.take());
    return items;
  }
}
