import { statSync } from 'node:fs';
import type { MessagePort } from 'node:worker_threads';

/** What happened to a disk, in words of paths and of the numbers of files, since another thread cannot know more. */
export type DiskEvent =
  | { readonly kind: 'made'; readonly path: string; readonly inode: number; readonly isDirectory: boolean }
  | { readonly kind: 'wrote'; readonly inode: number; readonly offset: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'truncated'; readonly inode: number; readonly bytes: number }
  | { readonly kind: 'renamed'; readonly from: string; readonly to: string }
  | { readonly kind: 'removed'; readonly path: string }
  | { readonly kind: 'synced'; readonly inode: number }
  | { readonly kind: 'syncedDirectory'; readonly path: string };

/** One order for all threads: whoever records something after it has heard of something else has a higher number. */
export interface NumberedEvent {
  readonly at: number;
  readonly event: DiskEvent;
}

/** What the recorders of one disk share. */
export interface SharedRecord {
  /** The number of the next event. */
  readonly next: Int32Array;
  readonly port: MessagePort;
}

/**
 * Is told in a thread of what it does to the disk, when it has done it and before it does anything else. Of a sync, it is told
 * in its place.
 */
export class DiskRecorder {
  readonly #record: SharedRecord;

  constructor(record: SharedRecord) {
    this.#record = record;
  }

  made(path: string): void {
    const stats = statSync(path);
    this.#add({ kind: 'made', path, inode: stats.ino, isDirectory: stats.isDirectory() });
  }

  /** The bytes have memory of their own, which is moved away. */
  wrote(inode: number, offset: number, bytes: Uint8Array<ArrayBuffer>): void {
    this.#add({ kind: 'wrote', inode, offset, bytes }, [bytes.buffer]);
  }

  truncated(inode: number, bytes: number): void {
    this.#add({ kind: 'truncated', inode, bytes });
  }

  renamed(from: string, to: string): void {
    this.#add({ kind: 'renamed', from, to });
  }

  removed(path: string): void {
    this.#add({ kind: 'removed', path });
  }

  synced(inode: number): void {
    this.#add({ kind: 'synced', inode });
  }

  syncedDirectory(path: string): void {
    this.#add({ kind: 'syncedDirectory', path });
  }

  #add(event: DiskEvent, moved: readonly ArrayBuffer[] = []): void {
    const { next, port } = this.#record;
    port.postMessage({ at: Atomics.add(next, 0, 1), event } satisfies NumberedEvent, moved);
  }
}
