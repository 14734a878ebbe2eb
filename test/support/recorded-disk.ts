import { statSync } from 'node:fs';
import { type Disk, type DiskFile, nodeDisk } from '../../src/journal/disk.ts';
import type { PowerCutDisk } from './power-cut-disk.ts';

/** The disk of this machine as the journal sees it. Its syncs reach only the `PowerCutDisk`. */
export function recordedDisk(disk: PowerCutDisk): Disk {
  const { recorder } = disk;
  const record = (path: string, file: DiskFile): DiskFile => {
    const inode = statSync(path).ino;
    return {
      read: (into, offset) => file.read(into, offset),
      identity: () => file.identity(),
      close: () => file.close(),
      async write(bytes, offset) {
        const written = await file.write(bytes, offset);
        recorder.wrote(inode, offset, new Uint8Array(bytes.subarray(0, written)));
        return written;
      },
      async truncate(bytes) {
        await file.truncate(bytes);
        recorder.truncated(inode, bytes);
      },
      async sync() {
        recorder.synced(inode);
      },
    };
  };
  return {
    ...nodeDisk,
    async makeDirectory(directory) {
      const missing: string[] = [];
      for (let path = directory; disk.has(path) && !exists(path); path = path.slice(0, path.lastIndexOf('/'))) {
        missing.unshift(path);
      }
      await nodeDisk.makeDirectory(directory);
      for (const path of missing) recorder.made(path);
      for (const path of missing) recorder.syncedDirectory(path.slice(0, path.lastIndexOf('/')));
    },
    async create(path) {
      const file = await nodeDisk.create(path);
      recorder.made(path);
      return record(path, file);
    },
    open: async (path) => record(path, await nodeDisk.open(path)),
    async rename(from, to) {
      await nodeDisk.rename(from, to);
      recorder.renamed(from, to);
    },
    async remove(path) {
      await nodeDisk.remove(path);
      recorder.removed(path);
    },
    async syncDirectory(directory) {
      recorder.syncedDirectory(directory);
    },
  };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
