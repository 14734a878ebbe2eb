import { fstatSync, statSync } from 'node:fs';
import { EmbeddedFiles, type EngineSync } from '../../src/db/embedded-files.ts';
import { DiskRecorder, type SharedRecord } from './disk-recorder.ts';

/**
 * The files of the embedded engine, of which a `PowerCutDisk` is told every change and every sync. They are in the thread of
 * the engine (`EmbeddedOptions.engineFiles`).
 */

export const openFiles = (directory: string, record: SharedRecord): EmbeddedFiles =>
  new RecordedFiles(directory, new DiskRecorder(record));

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

/** The real files of the real engine. Its syncs reach only the `recorder. */
class RecordedFiles extends EmbeddedFiles {
  readonly #disk: DiskRecorder;

  constructor(directory: string, disk: DiskRecorder) {
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

function recordChanges({ realPath, node_ops: nodes, stream_ops: streams }: Operations, disk: DiskRecorder): void {
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
    disk.wrote(fstatSync(stream.nfd).ino, position, new Uint8Array(buffer.subarray(offset, offset + written)));
    return written;
  };
}
