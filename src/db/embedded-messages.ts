import type { MessagePort } from 'node:worker_threads';
import type { Statement } from './database.ts';

/**
 * What the main thread and the thread of the embedded database send each other. Each order has one response, in the same
 * order; notifications come between them, before the response to the order in which they were sent.
 */
export type Order =
  | { readonly kind: 'open'; readonly directory: string }
  | ({ readonly kind: 'run' } & Work)
  | { readonly kind: 'listen'; readonly channel: string }
  | { readonly kind: 'unlisten'; readonly channel: string }
  | { readonly kind: 'close' };

/** One message of SQL, with as many statements as there are. */
export interface Work {
  /** Appears in errors. */
  readonly name: string;
  /** The schema that the session goes to first; absent: it is there. */
  readonly schema: string | undefined;
  /** Statements that were never sent before, prepared first. From then on the SQL names them (`executeText`). */
  readonly unprepared: readonly Statement[];
  readonly sql: string;
  /** Which of the results are sent back, as for `slice`. */
  readonly from: number;
  readonly to: number | undefined;
  /** Whether a failure of any of it rolls a transaction back. */
  readonly rollsBack: boolean;
}

/** The rows of a statement: its columns' names once, because objects cost more to send and to make (`docs/decisions/0055`). */
export interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** An error as plain values, since the class and the code of one that is sent are lost. */
export interface Failure {
  /** The statement, whose error may be logged (`StatementError`); `null` for the engine's start. */
  readonly statement: string | null;
  readonly reason: string;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
  /** Whether the engine has ended, so that nothing more can be asked of it. */
  readonly hasStopped: boolean;
}

export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

export type Response = { readonly results: readonly Rows[] } | { readonly failure: Failure };

/** What the thread is started with. */
export interface ThreadOptions {
  readonly port: MessagePort;
  readonly files: FilesModule | undefined;
}

/**
 * A module that is loaded in the thread, for the files of the engine: it exports `openFiles(directory, data)`, which returns
 * `EmbeddedFiles`.
 */
export interface FilesModule {
  readonly url: string;
  /** Shared memory, or a port that is in `moved`, is how it is heard of in the main thread. */
  readonly data: unknown;
  readonly moved?: readonly MessagePort[];
}
