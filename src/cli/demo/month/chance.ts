/** What happens by chance in the demo's month: the same in every demo, because all of it follows from a seed. */
export interface RandomSource {
  /** From 0 to below 1. */
  next(): number;
  isTrue(probability: number): boolean;
  /** A whole number, both ends included. */
  between(from: number, to: number): number;
  /** Around a median: most values are near it, and a few are many times as large. */
  around(median: number, spread: number): number;
  /** One of several, as often as their weights say. */
  choose<Item extends { readonly weight: number }>(items: readonly Item[]): Item;
  /** Fills a buffer, for ids. */
  fill(bytes: Uint8Array): void;
}

/** Mulberry32: 32 bits of state, enough for what is only looked at. Secrets are never made with it. */
export function createRandomSource(seed: number): RandomSource {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  return {
    next,
    isTrue: (probability) => next() < probability,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    around(median, spread) {
      // The sum of several is nearly normal, so this is nearly log-normal.
      const deviation = next() + next() + next() + next() - 2;
      return Math.max(1, Math.round(median * Math.exp(deviation * spread)));
    },
    choose(items) {
      let rest = next() * items.reduce((sum, { weight }) => sum + weight, 0);
      for (const item of items) {
        rest -= item.weight;
        if (rest < 0) return item;
      }
      return items.at(-1)!;
    },
    fill(bytes) {
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(next() * 256);
    },
  };
}
