/** Random numbers from a seed (mulberry32), so that what they decide can be repeated. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, and without, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  upTo(most: number): number {
    return Math.floor(this.next() * (most + 1));
  }

  one<Value>(values: readonly Value[]): Value {
    return values[this.upTo(values.length - 1)]!;
  }

  /** The number up to `most`, and often 0. */
  some(most: number): number {
    return this.next() < 0.6 ? 0 : this.upTo(most);
  }

  /** Whether something of this probability happens. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }
}
