import { fstatSync, statSync } from 'node:fs';
import { EmbeddedFiles, type EngineSync } from '../../src/db/embedded-files.ts';
import { type Disk, type DiskFile, nodeDisk } from '../../src/journal/disk.ts';
import type { PowerCutDisk } from './power-cut-disk.ts';

/** The files of the embedded engine and of the journal, of which a `PowerCutDisk` is told every change and every sync. */

/** The parts of Emscripten's file system that change files. */
interface FileNode {
  readonly parent: FileNode;
}
interface Attributes {
  readonly size?: number;
}
interface Operations {
  realPath(node: FileNode): string;
  readonly node_ops: {
    mknod(parent: FileNode, name: string, mode: number, device: number): FileNode;
    rename(node: FileNode, parent: FileNode, name: string): void;
    unlink(parent: FileNode, name: string): void;
    rmdir(parent: FileNode, name: string): void;
    setattr(node: FileNode, attributes: Attributes): void;
  };
  readonly stream_ops: {
    setattr(stream: { readonly nfd: number }, attributes: Attributes): void;
    write(
      stream: { readonly nfd: number },
      buffer: Int8Array,
      offset: number,
      length: number,
      position: number,
    ): number;
  };
}

type Init = EmbeddedFiles['init'];

/** The real files of the real engine. Its syncs reach only the `PowerCutDisk`. */
export class RecordedFiles extends EmbeddedFiles {
  readonly #disk: PowerCutDisk;

  constructor(directory: string, disk: PowerCutDisk) {
    const sync: EngineSync = {
      file: (descriptor) => disk.synced(fstatSync(descriptor).ino),
      directory: (path) => disk.syncedDirectory(path),
    };
    super(directory, sync);
    this.#disk = disk;
  }

  override async init(...given: Parameters<Init>): ReturnType<Init> {
    const { emscriptenOpts } = await super.init(...given);
    const record = ({ NODEFS }: { NODEFS: object }): void => recordChanges(NODEFS as Operations, this.#disk);
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), record] } };
  }
}

function recordChanges({ realPath, node_ops: nodes, stream_ops: streams }: Operations, disk: PowerCutDisk): void {
  const { mknod, rename, unlink, rmdir, setattr } = nodes;
  nodes.mknod = (parent, name, mode, device) => {
    const node = mknod(parent, name, mode, device);
    disk.made(realPath(node));
    return node;
  };
  nodes.rename = (node, parent, name) => {
    const from = realPath(node);
    rename(node, parent, name);
    disk.renamed(from, `${realPath(parent)}/${name}`);
  };
  nodes.unlink = (parent, name) => {
    unlink(parent, name);
    disk.removed(`${realPath(parent)}/${name}`);
  };
  nodes.rmdir = (parent, name) => {
    rmdir(parent, name);
    disk.removed(`${realPath(parent)}/${name}`);
  };
  nodes.setattr = (node, attributes) => {
    setattr(node, attributes);
    if (attributes.size !== undefined) disk.truncated(statSync(realPath(node)).ino, attributes.size);
  };
  const { setattr: setOpen, write } = streams;
  streams.setattr = (stream, attributes) => {
    setOpen(stream, attributes);
    if (attributes.size !== undefined) disk.truncated(fstatSync(stream.nfd).ino, attributes.size);
  };
  streams.write = (stream, buffer, offset, length, position) => {
    const written = write(stream, buffer, offset, length, position);
    disk.wrote(fstatSync(stream.nfd).ino, position, Buffer.from(buffer.subarray(offset, offset + written)));
    return written;
  };
}

/** The disk of this machine as the journal sees it. Its syncs reach only the `PowerCutDisk`. */
export function recordedDisk(disk: PowerCutDisk): Disk {
  const record = (path: string, file: DiskFile): DiskFile => {
    const inode = statSync(path).ino;
    return {
      read: (into, offset) => file.read(into, offset),
      identity: () => file.identity(),
      close: () => file.close(),
      async write(bytes, offset) {
        const written = await file.write(bytes, offset);
        disk.wrote(inode, offset, Buffer.from(bytes.subarray(0, written)));
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
