import { seededRandom } from './seeded-random.ts';

/** Random decisions that can be reproduced from a seed. */
export class Dice {
  /** A number from 0 to below 1. */
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

  /** 0 in 60 % of cases, otherwise as `upTo`. */
  some(most: number): number {
    return this.next() < 0.6 ? 0 : this.upTo(most);
  }

  /** Returns true with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number with this median; most are near it, a few many times as large. The sum in the exponent is nearly normal. */
  around(median: number): number {
    return Math.ceil(median * Math.exp(0.8 * (this.next() + this.next() + this.next() + this.next() - 2)));
  }
}
