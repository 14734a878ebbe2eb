import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects buffers that a long transfer leaves behind. Every read of a socket or a file makes a buffer of 64 KiB that is
 * garbage a moment later; the engine sees only its small handle and waits until 64 MiB of such memory have gathered. A
 * collection of the young generation, of about a millisecond, gives it back at once.
 *
 * Returns a function to call with the size of each piece of the transfer.
 */
export function createYoungGarbageCollector(everyBytes = COLLECT_EVERY_BYTES): (sizeBytes: number) => void {
  let sinceBytes = 0;
  return (sizeBytes) => {
    sinceBytes += sizeBytes;
    if (sinceBytes < everyBytes) return;
    sinceBytes = 0;
    collectYoung ??= findCollector();
    collectYoung({ type: 'minor' });
  };
}

const COLLECT_EVERY_BYTES = 16 * 1024 * 1024;

type Collect = (options: { readonly type: 'minor' }) => void;

let collectYoung: Collect | null = null;

/** The engine exposes its collector to contexts that are created while the flag is set. */
function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collect;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
