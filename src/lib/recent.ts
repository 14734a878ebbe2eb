import { LRUCache } from 'lru-cache';

/**
 * A cache that forgets the least recently used entry beyond `entriesMax`. It allocates memory as it fills. With `max`, the library would
 * allocate for all entries at once: for the 100,000 of `SignInLimits`, that took 18 ms of the start.
 */
export function rememberRecent<Value extends NonNullable<unknown>>(entriesMax: number): LRUCache<string, Value> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
}
