/** Limits concurrency by name, such as the name of an account. */
export class AtATime {
  readonly #max: number;
  readonly #taken = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  isFull(name: string): boolean {
    return (this.#taken.get(name) ?? 0) >= this.#max;
  }

  /** Takes a slot. Returns a function that frees it, which may be called repeatedly; `null` if no slot is free. */
  take(name: string): (() => void) | null {
    const taken = this.#taken.get(name) ?? 0;
    if (taken >= this.#max) return null;
    this.#taken.set(name, taken + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = this.#taken.get(name)! - 1;
      if (left === 0) this.#taken.delete(name);
      else this.#taken.set(name, left);
    };
  }
}
