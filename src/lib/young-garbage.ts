import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Creates a collector of buffers that become garbage during a long transfer; call the result with the size of each chunk. The engine sees
 * only the small handles of buffers, and does not free them until 64 MiB have accumulated. A collection of the young generation frees them
 * in about a millisecond.
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

/** Finds the engine's collector, which contexts have that are created while the flag is set. */
function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collect;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
