import { open } from 'node:fs/promises';
import { type Disk, type DiskFile, nodeDisk } from '../../src/journal/disk.ts';

/** The disk as a journal sees it: a test can fill it up and delay its syncs. */
export interface TestDisk extends Disk {
  /** From now on only so many more bytes fit, until `free`; writes beyond that fail as on a full disk. */
  fill(capacityBytes?: number): void;
  free(): void;
  /** From now on syncs do not complete, until `release`. */
  hold(): void;
  release(): void;
  /** Resolves at the next sync while syncs are held. */
  held(): Promise<void>;
}

export function createTestDisk(): TestDisk {
  let capacityBytes = Number.POSITIVE_INFINITY;
  let gate: PromiseWithResolvers<void> | null = null;
  let held = Promise.withResolvers<void>();

  function watched(file: DiskFile): DiskFile {
    return {
      read: (into, offset) => file.read(into, offset),
      truncate: (bytes) => file.truncate(bytes),
      identity: () => file.identity(),
      close: () => file.close(),
      async write(bytes, offset) {
        if (capacityBytes === 0) await failToWrite();
        const written = await file.write(bytes.subarray(0, Math.min(bytes.length, capacityBytes)), offset);
        capacityBytes -= written;
        return written;
      },
      async sync() {
        if (gate !== null) {
          held.resolve();
          held = Promise.withResolvers();
          await gate.promise;
        }
        await file.sync();
      },
    };
  }

  return {
    ...nodeDisk,
    async create(path) {
      if (capacityBytes === 0) await failToWrite();
      return watched(await nodeDisk.create(path));
    },
    open: async (path) => watched(await nodeDisk.open(path)),
    freeBytes: async (directory) =>
      capacityBytes === Number.POSITIVE_INFINITY ? nodeDisk.freeBytes(directory) : capacityBytes,
    fill(bytes = 0) {
      capacityBytes = bytes;
    },
    free() {
      capacityBytes = Number.POSITIVE_INFINITY;
    },
    hold() {
      gate ??= Promise.withResolvers();
    },
    release() {
      gate?.resolve();
      gate = null;
    },
    held: () => held.promise,
  };
}

/** The system's own error of a write for which there is no space. */
async function failToWrite(): Promise<void> {
  const full = await open('/dev/full', 'w');
  try {
    await full.write(Buffer.from('x'));
  } finally {
    await full.close();
  }
}
