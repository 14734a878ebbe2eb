/**
 * A map with a limit: when it is full, the entry that was read least recently goes. A `Map` keeps insertion order, so
 * re-inserting on a read is all that recency needs.
 */
export class LruMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#entriesMax) this.#entries.delete(this.#entries.keys().next().value as Key);
  }

  /** Every entry, the one that was read least recently first; not a read. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Removes every entry that the test picks. */
  deleteWhere(picks: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) {
      if (picks(value)) this.#entries.delete(key);
    }
  }
}
