import { LRUCache } from 'lru-cache';

/**
 * Creates a cache that forgets the least recently used entry when it has more than `entriesMax`. It allocates memory as it fills. With the
 * option `max`, the library would allocate memory for all entries at once: for the 100,000 of `SignInLimits`, that took 18 ms of the start.
 */
export function rememberRecent<Value extends NonNullable<unknown>>(entriesMax: number): LRUCache<string, Value> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
}
