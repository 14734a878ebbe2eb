/** Counts what each client has open at a time, by its network, up to a limit. */
export class AddressCounts {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts one more and returns a function that ends it; `null` where the client is at its limit. */
  enter(network: string): (() => void) | null {
    const count = this.#counts.get(network) ?? 0;
    if (count >= this.#max) return null;
    this.#counts.set(network, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = this.#counts.get(network)! - 1;
      if (left === 0) this.#counts.delete(network);
      else this.#counts.set(network, left);
    };
  }
}
