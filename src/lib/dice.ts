import { seededRandom } from './seeded-random.ts';

/** Random decisions that can be reproduced with the same seed. */
export class Dice {
  /** Returns a random number from 0 (inclusive) to 1 (exclusive). */
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

  /** Returns 0 with a probability of 60 %, otherwise the result of `upTo`. */
  some(most: number): number {
    return this.next() < 0.6 ? 0 : this.upTo(most);
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns a random whole number with this median, from an approximately log-normal distribution. */
  around(median: number): number {
    return Math.ceil(median * Math.exp(0.8 * (this.next() + this.next() + this.next() + this.next() - 2)));
  }
}
