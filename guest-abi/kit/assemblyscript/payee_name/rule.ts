// Confirmation of the payee: the name that the payer wrote against the name of the account's holder, as the bank of the
// payee tells it. A few letters off are a typing error or a look-alike; a wholly different name is worse, and so is a large
// amount. Who has paid to this account before knows it.

import { aggregate, number, set_reason, set_score, text } from "../tollgate";

// Slots of the manifest.
const WRITTEN: i32 = 0;
const HOLDER: i32 = 1;
const AMOUNT: i32 = 2;
const EARLIER_PAYMENTS: i32 = 0;

const NAME_BYTES_MAX: i32 = 64;
const CLOSE_MAX: i32 = 2;
const LARGE: f64 = 10_000;

const written = memory.data(NAME_BYTES_MAX);
const holder = memory.data(NAME_BYTES_MAX);
// One row of the table of distances, an i32 for each place.
const row = memory.data((NAME_BYTES_MAX + 1) * 4, 4);

export function evaluate(): i64 {
  const nWritten = read(WRITTEN, written);
  const nHolder = read(HOLDER, holder);
  if (nWritten <= 0 || nHolder <= 0) return 0;
  const n = distance(nWritten, nHolder);
  if (n == 0 || aggregate(EARLIER_PAYMENTS) > 0) return 0;

  let score: f64 = 0.75;
  if (n <= CLOSE_MAX) {
    score = 0.5;
    say("The name of the payee is nearly that of the account's holder");
  }
  // A missing amount is a NaN, which is not larger than anything.
  set_score(0, number(AMOUNT) > LARGE ? score + 0.2 : score);
  return 1;
}

/** Reads a name and keeps what counts of it: letters and digits, in lower case; how many bytes that is, or -1. */
function read(field: i32, at: usize): i32 {
  const nBytes = min(text(field, at, NAME_BYTES_MAX), NAME_BYTES_MAX);
  if (nBytes < 0) return -1;
  let nKept = 0;
  for (let i = 0; i < nBytes; i++) {
    const byte = load<u8>(at + i);
    const isCapital = byte >= 0x41 && byte <= 0x5a;
    const isLetter = (byte >= 0x61 && byte <= 0x7a) || isCapital || byte >= 0x80;
    const isDigit = byte >= 0x30 && byte <= 0x39;
    if (isLetter || isDigit) store<u8>(at + nKept++, isCapital ? byte + 0x20 : byte);
  }
  return nKept;
}

/** How many bytes have to be put in, left out or changed to make one name of the other. */
function distance(nWritten: i32, nHolder: i32): i32 {
  for (let j = 0; j <= nHolder; j++) store<i32>(row + j * 4, j);
  for (let i = 1; i <= nWritten; i++) {
    let diagonal = load<i32>(row);
    store<i32>(row, i);
    for (let j = 1; j <= nHolder; j++) {
      const above = load<i32>(row + j * 4);
      const left = load<i32>(row + j * 4 - 4);
      const change: i32 = load<u8>(written + i - 1) == load<u8>(holder + j - 1) ? 0 : 1;
      store<i32>(row + j * 4, min(min(above, left) + 1, diagonal + change));
      diagonal = above;
    }
  }
  return load<i32>(row + nHolder * 4);
}

const words = memory.data(256);

/** Says a reason: a text of AssemblyScript is UTF-16, the host reads UTF-8. */
// @ts-ignore: decorator
@inline
function say(reason: string): void {
  const nBytes = String.UTF8.encodeUnsafe(changetype<usize>(reason), reason.length, words);
  set_reason(0, words, i32(nBytes));
}
