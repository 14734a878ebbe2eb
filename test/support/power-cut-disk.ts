import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';

/**
 * A disk whose power can be cut at any past moment. Programs use the real file system; the disk is notified of every change and sync, in
 * order, and reconstructs what a cut would leave.
 *
 * After a cut, a file has all writes and truncations before its last sync, and any part of the later ones, in sectors of 512 bytes. A
 * directory has all names that were created, renamed and removed before its last sync, and any of the later changes. A sync of a file
 * does not persist its name. POSIX promises no more than this; real file systems keep more.
 */

type NodeId = number;

type Change =
  | { readonly kind: 'write'; readonly node: NodeId; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly node: NodeId; readonly bytes: number }
  /** Each name refers to a node from now on, or to none. The changes are atomic. */
  | { readonly kind: 'names'; readonly entries: readonly NameChange[] }
  /** Changes before `upTo` are durable. */
  | { readonly kind: 'sync'; readonly node: NodeId; readonly upTo: number };

interface NameChange {
  readonly directory: NodeId;
  readonly name: string;
  readonly node: NodeId | null;
}

type Names = Map<NodeId, Map<string, NodeId>>;

const SECTOR_BYTES = 512;
const ROOT: NodeId = 0;

export interface CutOptions {
  /** Number of changes before the cut; all by default. */
  readonly changes?: number;
  readonly randomSource: () => number;
  /** Probability that a change without a sync survives. */
  readonly kept: number;
  /** Pretends that no sync reached the disk. */
  readonly ignoresSyncs?: boolean;
}

export class PowerCutDisk {
  readonly #root: string;
  /** For each node, whether it is a directory. */
  readonly #nodes: boolean[] = [];
  readonly #changes: Change[] = [];
  /** As programs see it now. */
  readonly #now: Names = new Map();
  readonly #byInode = new Map<number, NodeId>();

  /** The directory is durable and empty. */
  constructor(root: string) {
    this.#root = root;
    this.#add(true, statSync(root).ino);
  }

  /** Number of changes so far. */
  get changes(): number {
    return this.#changes.length;
  }

  /** Adds a moment at which the disk does not change. */
  tick(): void {
    this.#rename([]);
  }

  made(path: string): void {
    const stats = statSync(path);
    const node = this.#add(stats.isDirectory(), stats.ino);
    this.#rename([{ ...this.#place(path), node }]);
  }

  wrote(inode: number, offset: number, bytes: Uint8Array): void {
    this.#changes.push({ kind: 'write', node: this.#ofInode(inode), offset, bytes });
  }

  truncated(inode: number, bytes: number): void {
    this.#changes.push({ kind: 'truncate', node: this.#ofInode(inode), bytes });
  }

  renamed(from: string, to: string): void {
    this.#rename([
      { ...this.#place(from), node: null },
      { ...this.#place(to), node: this.#find(from) },
    ]);
  }

  removed(path: string): void {
    this.#rename([{ ...this.#place(path), node: null }]);
  }

  synced(inode: number): void {
    this.#changes.push({ kind: 'sync', node: this.#ofInode(inode), upTo: this.changes });
  }

  syncedDirectory(path: string): void {
    this.#changes.push({ kind: 'sync', node: this.#find(path), upTo: this.changes });
  }

  /** Whether the path is on this disk, below the root. */
  has(path: string): boolean {
    return !relative(this.#root, path).startsWith('..');
  }

  /** Writes what a cut would leave into a new directory. */
  cut(target: string, options: CutOptions): void {
    const { randomSource, kept, changes = this.changes, ignoresSyncs = false } = options;
    const happened = this.#changes.slice(0, changes);
    const syncedUpTo = new Map<NodeId, number>();
    for (const change of ignoresSyncs ? [] : happened) {
      if (change.kind === 'sync') syncedUpTo.set(change.node, Math.max(change.upTo, syncedUpTo.get(change.node) ?? 0));
    }
    const survives = (at: number, ...nodes: NodeId[]): boolean =>
      nodes.every((node) => at < (syncedUpTo.get(node) ?? 0)) || randomSource() < kept;

    const names: Names = new Map();
    const contents = new Map<NodeId, Content>();
    const contentOf = (node: NodeId): Content => {
      const content = contents.get(node) ?? new Content();
      contents.set(node, content);
      return content;
    };
    for (const [at, change] of happened.entries()) {
      if (change.kind === 'names') {
        if (survives(at, ...change.entries.map(({ directory }) => directory))) apply(names, change.entries);
      } else if (change.kind === 'truncate') {
        if (survives(at, change.node)) contentOf(change.node).truncate(change.bytes);
      } else if (change.kind === 'write') {
        const content = contentOf(change.node);
        if (at < (syncedUpTo.get(change.node) ?? 0)) content.write(change.bytes, change.offset);
        else for (const part of sectors(change)) if (randomSource() < kept) content.write(part.bytes, part.offset);
      }
    }
    this.#write(target, ROOT, names, contents);
  }

  #write(target: string, directory: NodeId, names: Names, contents: ReadonlyMap<NodeId, Content>): void {
    mkdirSync(target, { mode: 0o700 });
    for (const [name, id] of names.get(directory) ?? []) {
      const path = join(target, name);
      if (this.#nodes[id]) this.#write(path, id, names, contents);
      else writeFileSync(path, contents.get(id)?.bytes ?? '', { mode: 0o600 });
    }
  }

  #add(isDirectory: boolean, inode: number): NodeId {
    const id = this.#nodes.push(isDirectory) - 1;
    // An inode number is reused once its file is gone.
    this.#byInode.set(inode, id);
    return id;
  }

  #rename(entries: readonly NameChange[]): void {
    apply(this.#now, entries);
    this.#changes.push({ kind: 'names', entries });
  }

  #place(path: string): { readonly directory: NodeId; readonly name: string } {
    return { directory: this.#find(dirname(path)), name: basename(path) };
  }

  #find(path: string): NodeId {
    let node = ROOT;
    for (const name of relative(this.#root, path).split(sep)) {
      if (name === '') continue;
      const next = this.#now.get(node)?.get(name);
      assert(next !== undefined, `nobody has said how ${path} was made`);
      node = next;
    }
    return node;
  }

  #ofInode(inode: number): NodeId {
    const node = this.#byInode.get(inode);
    assert(node !== undefined, 'nobody has said how a file was made that is written');
    return node;
  }
}

function apply(names: Names, entries: readonly NameChange[]): void {
  for (const { directory, name, node } of entries) {
    const inDirectory = names.get(directory) ?? new Map<string, NodeId>();
    names.set(directory, inDirectory);
    if (node === null) inDirectory.delete(name);
    else inDirectory.set(name, node);
  }
}

function* sectors({
  bytes,
  offset,
}: {
  bytes: Uint8Array;
  offset: number;
}): Generator<{ bytes: Uint8Array; offset: number }> {
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((offset + at) % SECTOR_BYTES));
    yield { bytes: bytes.subarray(at, end), offset: offset + at };
    at = end;
  }
}

/** The bytes of a file. Bytes that were never written are zero. */
class Content {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  write(bytes: Uint8Array, offset: number): void {
    const end = offset + bytes.length;
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.#bytes.length));
      this.bytes.copy(larger);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, offset);
    this.#length = Math.max(this.#length, end);
  }

  truncate(length: number): void {
    if (length > this.#length) this.write(Buffer.alloc(length - this.#length), this.#length);
    else {
      this.#bytes.fill(0, length, this.#length);
      this.#length = length;
    }
  }
}
