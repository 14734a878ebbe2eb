import { closeSync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import type { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { EngineStoppedError } from './errors.ts';

/** How the engine's files get onto the disk: a port, so that a test can see when. Each fails with the system's own error. */
export interface EngineSync {
  /** When it returns, the content of the file is on the disk; its name may not be. */
  file(descriptor: number): void;
  /** When it returns, the names in the directory are on the disk. */
  directory(path: string): void;
}

export const systemSync: EngineSync = {
  // Leaves out the times of the file, which nobody reads: a write to the file system's journal at each commit.
  file: fdatasyncSync,
  directory(path) {
    // Windows makes names durable by itself.
    if (process.platform === 'win32') return;
    const descriptor = openSync(path, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  },
};

/** Without `-F`, which turns syncs off. Emscripten's `fdatasync` never reaches the file system; its `fsync` does. */
export const SYNC_PARAMETERS = ['-c', 'fsync=on', '-c', 'wal_sync_method=fsync', '-c', 'full_page_writes=on'] as const;

/** The parts of Emscripten's file system that are used here. */
interface FileNode {
  readonly mode: number;
  /** The root is its own parent. */
  readonly parent: FileNode;
}

interface FileStream {
  readonly node: FileNode;
  /** The descriptor of the operating system. */
  readonly nfd: number;
}

interface SystemFiles {
  realPath(node: FileNode): string;
  /** Gives the errors of the operating system to the engine. */
  tryFSOperation<Result>(work: () => Result): Result;
  readonly node_ops: {
    mknod(parent: FileNode, name: string, mode: number, device: number): FileNode;
    rename(node: FileNode, parent: FileNode, name: string): void;
  };
  readonly stream_ops: { fsync?(stream: FileStream): number };
}

type Module = Parameters<NonNullable<Awaited<ReturnType<NodeFS['init']>>['emscriptenOpts']['preRun']>[number]>[0];

/**
 * The files of the embedded engine, with syncs: PGlite's own have none, so the engine's `fsync` does nothing there.
 *
 * PostgreSQL syncs each file whose content counts, and the directory of each file that it renames. It does not sync the
 * directory of a file that it makes: on some file systems the sync of the file does that as well. Here it does on all.
 *
 * If a sync fails, nobody knows what is on the disk, and the engine ends itself. PGlite would go on to call it, for ever;
 * here every further call fails.
 */
export class EmbeddedFiles extends NodeFS {
  readonly #sync: EngineSync;

  constructor(directory: string, sync: EngineSync = systemSync) {
    super(directory);
    this.#sync = sync;
  }

  override async init(pg: PGlite, options: Parameters<NodeFS['init']>[1]): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options);
    let lastPanic = 'it gave no reason';
    const printErr = (line: string): void => {
      lastPanic = PANIC.exec(line)?.[1] ?? lastPanic;
      emscriptenOpts.printErr?.(line);
    };
    const prepare = (module: Module): void => {
      addSyncs(module, this.#sync);
      module.onAbort = () => stop(module, new EngineStoppedError(lastPanic));
    };
    return { emscriptenOpts: { ...emscriptenOpts, printErr, preRun: [...(emscriptenOpts.preRun ?? []), prepare] } };
  }
}

/** A line that the engine writes before it ends itself. */
const PANIC = /\bPANIC: +(.*)/;

/** Lets every further use of the engine fail. PGlite catches errors of its main loop, but of nothing around it. */
function stop(module: Module, error: EngineStoppedError): void {
  const fail = (): never => {
    throw error;
  };
  Object.assign(module, {
    _PostgresMainLoopOnce: fail,
    stackRestore: fail,
    _PostgresSendReadyForQueryIfNecessary: fail,
    // They would let the engine put its files in order, which it cannot do any more.
    _pgl_run_atexit_funcs: fail,
    _emscripten_force_exit: fail,
  });
}

function addSyncs(module: Module, sync: EngineSync): void {
  const files = module.NODEFS as unknown as SystemFiles;
  const { node_ops: nodes, stream_ops: streams } = files;
  /** Directories with names that may not be on the disk. */
  const changed = new Set<string>();

  const { mknod, rename } = nodes;
  nodes.mknod = (parent, name, mode, device) => {
    const node = mknod(parent, name, mode, device);
    changed.add(files.realPath(parent));
    return node;
  };
  nodes.rename = (node, parent, name) => {
    changed.add(files.realPath(node.parent)).add(files.realPath(parent));
    rename(node, parent, name);
  };

  const syncNames = (directory: string): void => {
    sync.directory(directory);
    changed.delete(directory);
  };
  streams.fsync = ({ node, nfd }) =>
    files.tryFSOperation(() => {
      if (module.FS.isDir(node.mode)) {
        syncNames(files.realPath(node));
        return 0;
      }
      sync.file(nfd);
      if (changed.size === 0) return 0;
      for (let each = node; each.parent !== each; each = each.parent) {
        const directory = files.realPath(each.parent);
        if (changed.has(directory)) syncNames(directory);
      }
      return 0;
    });
}
