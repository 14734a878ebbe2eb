import { LRUCache } from 'lru-cache';

/**
 * Remembers so many entries; beyond them the least recently used one is forgotten. It takes memory as it fills: with `max`, the
 * library takes that of all entries when the cache is made, which were 18 ms of the start for the 100,000 of `SignInLimits`.
 */
export function rememberRecent<Value extends NonNullable<unknown>>(entriesMax: number): LRUCache<string, Value> {
  return new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1 });
}
