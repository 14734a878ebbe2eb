import { statSync } from 'node:fs';
import { type Disk, type DiskFile, nodeDisk } from '../../src/journal/disk.ts';
import type { PowerCutDisk } from './power-cut-disk.ts';

/** The disk of this machine for the journal. Syncs go to the `PowerCutDisk` only. */
export function recordedDisk(disk: PowerCutDisk): Disk {
  const record = (path: string, file: DiskFile): DiskFile => {
    const inode = statSync(path).ino;
    return {
      read: (into, offset) => file.read(into, offset),
      identity: () => file.identity(),
      close: () => file.close(),
      async write(bytes, offset) {
        const written = await file.write(bytes, offset);
        disk.wrote(inode, offset, new Uint8Array(bytes.subarray(0, written)));
        return written;
      },
      async truncate(bytes) {
        await file.truncate(bytes);
        disk.truncated(inode, bytes);
      },
      async sync() {
        disk.synced(inode);
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
      for (const path of missing) disk.made(path);
      for (const path of missing) disk.syncedDirectory(path.slice(0, path.lastIndexOf('/')));
    },
    async create(path) {
      const file = await nodeDisk.create(path);
      disk.made(path);
      return record(path, file);
    },
    open: async (path) => record(path, await nodeDisk.open(path)),
    async rename(from, to) {
      await nodeDisk.rename(from, to);
      disk.renamed(from, to);
    },
    async remove(path) {
      await nodeDisk.remove(path);
      disk.removed(path);
    },
    async syncDirectory(directory) {
      disk.syncedDirectory(directory);
    },
  };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
