import { seededRandom } from './seeded-random.ts';

/** Random decisions that can be reproduced from a seed. */
export class Dice {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
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

  /** Returns 0 in 60 % of cases, otherwise the result of `upTo`. */
  some(most: number): number {
    return this.next() < 0.6 ? 0 : this.upTo(most);
  }

  /** Returns true with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /**
   * Returns a whole number with this median. Most results are near it; a few are many times as large. The sum in the exponent is nearly
   * normally distributed.
   */
  around(median: number): number {
    return Math.ceil(median * Math.exp(0.8 * (this.next() + this.next() + this.next() + this.next() - 2)));
  }
}
