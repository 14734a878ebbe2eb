import { seededRandom } from './seeded-random.ts';

/** What is decided by chance from a seed, so that it can be repeated. */
export class Dice {
  /** From 0 up to, and without, 1. */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
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

  /** A whole number around a median: most are near it, a few many times as large. A sum of several numbers is nearly normal. */
  around(median: number): number {
    return Math.ceil(median * Math.exp(0.8 * (this.next() + this.next() + this.next() + this.next() - 2)));
  }
}
