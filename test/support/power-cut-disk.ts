import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { FilesModule } from '../../src/db/embedded-messages.ts';
import { type DiskEvent, DiskRecorder, type NumberedEvent, type SharedRecord } from './disk-recorder.ts';

/**
 * A disk whose power can be cut at any moment that has passed. It does not stand between a program and its files: it is told
 * of every change and every sync, in order, from every thread that makes any, and makes from that what a cut would have left.
 *
 * What a cut leaves: of a file, what was written and cut off before its last sync, and any part of what came after, in
 * sectors of 512 bytes; of a directory, the names that were made, renamed and removed before its last sync, and any of the
 * later ones. A sync of a file does not keep its name. This is the least that POSIX promises; real file systems keep more.
 */

type NodeId = number;

type Change =
  | { readonly kind: 'write'; readonly node: NodeId; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly node: NodeId; readonly bytes: number }
  /** Each name stands for a node from now on, or for none; all of it or nothing. */
  | { readonly kind: 'names'; readonly entries: readonly NameChange[] }
  /** Changes before `upTo` are on the disk. */
  | { readonly kind: 'sync'; readonly node: NodeId; readonly upTo: number };

interface NameChange {
  readonly directory: NodeId;
  readonly name: string;
  readonly node: NodeId | null;
}

interface DiskNode {
  readonly isDirectory: boolean;
  /** Where its content stood at the beginning; null if it was made later. */
  readonly original: string | null;
}

type Names = Map<NodeId, Map<string, NodeId>>;

const SECTOR_BYTES = 512;
const ROOT: NodeId = 0;

export interface CutOptions {
  /** How many of the changes happened before the cut; all by default. */
  readonly changes?: number;
  readonly randomSource: () => number;
  /** The probability with which a change survives that was not synced. */
  readonly kept: number;
  /** As if no sync had ever reached the disk. */
  readonly ignoresSyncs?: boolean;
}

export class PowerCutDisk {
  readonly #root: string;
  readonly #nodes: DiskNode[] = [];
  readonly #changes: Change[] = [];
  readonly #first: Names = new Map();
  /** As the programs see it now. */
  readonly #now: Names = new Map();
  readonly #byInode = new Map<number, NodeId>();
  /** The number of the next change. */
  readonly #next = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #ports: MessagePort[] = [];
  /** What was heard of, and not entered yet. */
  readonly #heard = new Map<number, DiskEvent>();
  /** Is told of what this thread does. */
  readonly recorder = new DiskRecorder(this.#share());

  /** The directory is on the disk, with everything in it, which also stands in `original` and stays as it is there. */
  constructor(root: string, original: string) {
    this.#root = root;
    this.#enterTree(root, original);
    for (const [id, names] of this.#first) this.#now.set(id, new Map(names));
  }

  /** How many changes there were until now. */
  get changes(): number {
    return Atomics.load(this.#next, 0);
  }

  /** The files of an engine in its thread, which tell of what happens there. */
  engineFiles(): FilesModule {
    const data = this.#share();
    return { url: import.meta.resolve('./recorded-files.ts'), data, moved: [data.port] };
  }

  /** What another recorder needs. Nothing listens at this end: what has arrived is taken when it is needed. */
  #share(): SharedRecord {
    const { port1, port2 } = new MessageChannel();
    this.#ports.push(port1);
    return { next: this.#next, port: port2 };
  }

  /** Enters all that has happened, in the order in which it did. */
  #enterEvents(): void {
    for (const port of this.#ports) {
      for (let found = receiveMessageOnPort(port); found !== undefined; found = receiveMessageOnPort(port)) {
        const { at, event } = found.message as NumberedEvent;
        this.#heard.set(at, event);
      }
    }
    while (this.#changes.length < this.changes) {
      const at = this.#changes.length;
      const event = this.#heard.get(at);
      assert(event !== undefined, `change ${at} was numbered, and nobody has told of it`);
      this.#heard.delete(at);
      this.#changes.push(this.#changeOf(event, at));
    }
  }

  #changeOf(event: DiskEvent, at: number): Change {
    switch (event.kind) {
      case 'made': {
        const node = this.#add(event.isDirectory, null, event.inode);
        return this.#rename([{ ...this.#place(event.path), node }]);
      }
      case 'wrote':
        return { kind: 'write', node: this.#ofInode(event.inode), offset: event.offset, bytes: event.bytes };
      case 'truncated':
        return { kind: 'truncate', node: this.#ofInode(event.inode), bytes: event.bytes };
      case 'renamed':
        return this.#rename([
          { ...this.#place(event.from), node: null },
          { ...this.#place(event.to), node: this.#find(event.from) },
        ]);
      case 'removed':
        return this.#rename([{ ...this.#place(event.path), node: null }]);
      case 'synced':
        return { kind: 'sync', node: this.#ofInode(event.inode), upTo: at };
      case 'syncedDirectory':
        return { kind: 'sync', node: this.#find(event.path), upTo: at };
    }
  }

  /** Whether the path is below the root, and so on this disk. */
  has(path: string): boolean {
    return !relative(this.#root, path).startsWith('..');
  }

  /** Writes what a cut would have left into a directory that is made for it. */
  cut(target: string, options: CutOptions): void {
    this.#enterEvents();
    const { randomSource, kept, changes = this.changes, ignoresSyncs = false } = options;
    const happened = this.#changes.slice(0, changes);
    const syncedUpTo = new Map<NodeId, number>();
    for (const change of ignoresSyncs ? [] : happened) {
      if (change.kind === 'sync') syncedUpTo.set(change.node, Math.max(change.upTo, syncedUpTo.get(change.node) ?? 0));
    }
    const survives = (at: number, ...nodes: NodeId[]): boolean =>
      nodes.every((node) => at < (syncedUpTo.get(node) ?? 0)) || randomSource() < kept;

    const names: Names = new Map([...this.#first].map(([id, entries]) => [id, new Map(entries)]));
    const contents = new Map<NodeId, Content>();
    const contentOf = (node: NodeId): Content => {
      const content = contents.get(node) ?? new Content(this.#nodes[node]!.original);
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
      const { isDirectory, original } = this.#nodes[id]!;
      const content = contents.get(id);
      if (isDirectory) this.#write(path, id, names, contents);
      else if (content === undefined && original !== null) copyFileSync(original, path);
      else writeFileSync(path, content?.bytes ?? '', { mode: 0o600 });
    }
  }

  #enterTree(path: string, original: string): NodeId {
    const stats = statSync(path);
    const id = this.#add(stats.isDirectory(), original, stats.ino);
    if (!stats.isDirectory()) return id;
    const names = new Map<string, NodeId>();
    this.#first.set(id, names);
    for (const name of readdirSync(path)) names.set(name, this.#enterTree(join(path, name), join(original, name)));
    return id;
  }

  #add(isDirectory: boolean, original: string | null, inode: number): NodeId {
    const id = this.#nodes.push({ isDirectory, original }) - 1;
    // A number is given again when its file is gone.
    this.#byInode.set(inode, id);
    return id;
  }

  #rename(entries: readonly NameChange[]): Change {
    apply(this.#now, entries);
    return { kind: 'names', entries };
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

/** The bytes of a file. Those that were never written are zero. */
class Content {
  #bytes: Buffer;
  #length: number;

  constructor(original: string | null) {
    this.#bytes = original === null ? Buffer.alloc(0) : readFileSync(original);
    this.#length = this.#bytes.length;
  }

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
