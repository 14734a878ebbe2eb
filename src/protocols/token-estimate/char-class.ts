/**
 * Classes of characters in the o200k pre-tokenizer. `both`: letters without case and modifier letters, which can be in words of either
 * case. `mark`: combining marks; within a word they are like `both`, elsewhere like punctuation.
 */
export const CharClass = {
  other: 0,
  upper: 1,
  lower: 2,
  both: 3,
  mark: 4,
  number: 5,
  space: 6,
  newline: 7,
  end: 8,
} as const;

/** Patterns of the classes. The first one that matches decides. */
const PATTERNS: readonly (readonly [pattern: RegExp, charClass: number])[] = [
  [/[\r\n]/u, CharClass.newline],
  [/\s/u, CharClass.space],
  [/\p{N}/u, CharClass.number],
  [/\p{Ll}/u, CharClass.lower],
  [/[\p{Lu}\p{Lt}]/u, CharClass.upper],
  [/[\p{Lm}\p{Lo}]/u, CharClass.both],
  [/\p{M}/u, CharClass.mark],
];

const PAGE_BITS = 8;
const PAGE_SIZE = 1 << PAGE_BITS;

/** Classes of 256 code points each, computed at the first use. All pages together take 1.1 MB. */
const pages: (Uint8Array | undefined)[] = new Array(0x110000 >> PAGE_BITS).fill(undefined);

export function classOf(codePoint: number): number {
  const page = pages[codePoint >> PAGE_BITS] ?? makePage(codePoint >> PAGE_BITS);
  return page[codePoint & (PAGE_SIZE - 1)]!;
}

function makePage(index: number): Uint8Array {
  const page = new Uint8Array(PAGE_SIZE);
  for (let i = 0; i < PAGE_SIZE; i++) {
    const char = String.fromCodePoint((index << PAGE_BITS) + i);
    page[i] = PATTERNS.find(([pattern]) => pattern.test(char))?.[1] ?? CharClass.other;
  }
  pages[index] = page;
  return page;
}
