import { EmbeddedFiles, systemSync } from '../../src/db/embedded-files.ts';

/**
 * The files of the embedded engine, loaded in its thread (`EmbeddedOptions.engineFiles`): they count syncs, and do what a test
 * orders, by memory that they share with it.
 */

/** Places in the shared memory. */
export const FILE_SYNCS = 0;
export const ORDER = 1;
export const WAITS = 2;
/** Set by a test once something has happened that comes before the opening, and what of it was set then. */
export const MARK = 3;
export const MARK_AT_OPENING = 4;
export const PLACES = 5;

/** What a sync of a file does besides. Whoever waits does so until there is another order. */
export const ORDERS = {
  'nothing else': 0,
  fail: 1,
  wait: 2,
  'end the thread': 3,
  'throw what nobody catches': 4,
} as const;

/** How long a sync waits for another order before it goes on without one: a test fails then, and does not hang. */
const WAIT_MS_MAX = 20_000;

export function openFiles(directory: string, shared: Int32Array): EmbeddedFiles {
  Atomics.store(shared, MARK_AT_OPENING, Atomics.load(shared, MARK));
  return new EmbeddedFiles(directory, {
    ...systemSync,
    file(descriptor) {
      carryOut(Atomics.load(shared, ORDER), shared);
      systemSync.file(descriptor);
      Atomics.add(shared, FILE_SYNCS, 1);
    },
  });
}

function carryOut(order: number, shared: Int32Array): void {
  if (order === ORDERS.fail) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  if (order === ORDERS['end the thread']) process.exit(3);
  if (order === ORDERS['throw what nobody catches']) {
    queueMicrotask(() => {
      throw new Error('nobody catches this');
    });
  }
  if (order === ORDERS.wait) {
    Atomics.add(shared, WAITS, 1);
    Atomics.wait(shared, ORDER, ORDERS.wait, WAIT_MS_MAX);
  }
}
