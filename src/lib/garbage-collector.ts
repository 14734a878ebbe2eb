import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What is collected: what was made a moment ago, or everything, in which case memory goes back to the system too. */
export type Collection = 'young' | 'all';

type Collect = (options: { readonly type: 'minor' | 'major'; readonly flavor?: 'last-resort' }) => void;

let collect: Collect | null = null;

/**
 * Runs the engine's garbage collector now. `young` takes about a millisecond; `all` holds the thread for the time of some full
 * collections, tens of milliseconds, so it is for moments in which nobody waits.
 */
export function collectGarbage(collection: Collection): void {
  collect ??= findCollector();
  collect(collection === 'young' ? { type: 'minor' } : { type: 'major', flavor: 'last-resort' });
}

/** The engine exposes its collector to contexts that are created while the flag is set. */
function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collect;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
