/**
 * Text that is the same in each run and shrinks about as much as prose does.
 */
const LETTERS = 'etaoinshrdlucmfwypvbgkjqxz'
const WORDS = 4000

/** Numbers in [0, 1), the same for the same seed. */
function numbersFrom(seed) {
  let state = (seed * 0x9e3779b1 + 0x7f4a7c15) >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

const next = numbersFrom(7)
const words = Array.from({ length: WORDS }, () =>
  Array.from(
    { length: 2 + Math.floor(next() * 9) },
    () => LETTERS[Math.floor(next() * next() * LETTERS.length)],
  ).join(''),
)

/** @param {number} seed @param {number} bytes */
export function textOf(seed, bytes) {
  const draw = numbersFrom(seed)
  const parts = []
  for (let length = 0; length < bytes; ) {
    const word = words[Math.floor(draw() * draw() * WORDS)]
    parts.push(word)
    length += word.length + 1
  }
  return parts.join(' ').slice(0, bytes)
}
