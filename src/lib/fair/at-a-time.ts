/** So many things of one name at a time, such as bodies that an account is sending. */
export class AtATime {
  readonly #max: number;
  readonly #taken = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a place, and returns what gives it back, which may be called again; `null` if all are taken. */
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
