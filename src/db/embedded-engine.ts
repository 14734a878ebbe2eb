import type { Statement } from './database.ts';
import type { Failure, FilesModule, Notification, Order, Response, Rows, Work } from './embedded-messages.ts';
import { EngineThread } from './engine-thread.ts';
import { EngineStoppedError, StatementError } from './errors.ts';

interface EngineOptions {
  /** For tests: where the engine's files come from. */
  readonly files?: FilesModule | undefined;
  /** Runs if the thread ends by itself, which it never does while all is well. */
  readonly onEnd: (error: unknown) => void;
}

/** What is to be run: SQL that executes prepared statements, and these statements. */
interface Run extends Pick<Work, 'name' | 'sql'>, Partial<Pick<Work, 'from' | 'to' | 'rollsBack'>> {
  /** In which schema; absent: it names the schemas of all that it is about. */
  readonly schema?: string;
  readonly statements?: readonly Statement[];
}

const CLOSED = 'the database is closed';

/** The schema in which the engine begins. */
export const FIRST_SCHEMA = 'public';

/**
 * The embedded engine, which works in a thread of its own, as the main thread has it: orders, which the thread carries out in
 * the order in which they are given. Whatever ends the engine or its thread fails what is under way and all that comes later.
 */
export class EmbeddedEngine {
  readonly #thread: EngineThread;
  /** Those who wait for a response; `null` tells them that there will be none. */
  readonly #waiting: ((response: Response | null) => void)[] = [];
  /** Names of statements whose text the thread has. */
  readonly #sent = new Set<string>();
  readonly #listeners = new Map<string, Set<(payload: string) => void>>();
  /** The schema of the last message that named one: the thread's session is in it. `null`: that is not known. */
  #schema: string | null = FIRST_SCHEMA;
  /** Why nothing can be asked any more. */
  #ended: string | null = null;
  #isGivenBack = false;

  /** Takes a thread, which loads the engine. It never keeps the process running, except while something is asked. */
  constructor({ files, onEnd }: EngineOptions) {
    const end = (error: unknown, reason: string): void => {
      if (this.#ended !== null) return;
      this.#end(new EngineStoppedError(reason).message);
      onEnd(error);
    };
    const user = {
      receive: (message: Response | Notification) => this.#receive(message),
      failed: (error: unknown) => end(error, `its thread has failed: ${(error as Error)?.message ?? error}`),
      ended: (code: number) => {
        const reason = `its thread has ended with exit code ${code}`;
        end(new Error(reason), reason);
        // Also of a thread whose engine had stopped before.
        this.#refuseAll();
      },
    };
    this.#thread = EngineThread.take(user, files);
  }

  /** Starts the engine on the files of a directory. @throws the reason for which it cannot start. */
  async open(directory: string): Promise<void> {
    await this.#order({ kind: 'open', directory }, 'database.open');
  }

  /** Returns the rows of the statements `from` to `to`, as for `slice`: by default, all. @throws StatementError */
  async run(run: Run): Promise<Record<string, unknown>[][]> {
    const { name, statements = [], sql, from = 0, to, rollsBack = false } = run;
    const schema = run.schema === undefined || run.schema === this.#schema ? undefined : run.schema;
    if (schema !== undefined) this.#schema = schema;
    const unprepared = statements.filter((each) => !this.#sent.has(each.name));
    for (const each of unprepared) this.#sent.add(each.name);
    try {
      const results = await this.#order({ kind: 'run', name, schema, unprepared, sql, from, to, rollsBack }, name);
      return results.map(toObjects);
    } catch (error) {
      for (const each of unprepared) this.#sent.delete(each.name);
      if (schema !== undefined) this.#schema = null;
      throw error;
    }
  }

  /** A rollback has undone where the session went in its transaction: the next message says where it is to be. */
  forgetSchema(): void {
    this.#schema = null;
  }

  /** Returns a function that ends it. */
  async listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(onPayload));
    if (listeners.size === 1) {
      try {
        await this.#order({ kind: 'listen', channel }, 'database.listen');
      } catch (error) {
        listeners.delete(onPayload);
        throw error;
      }
    }
    return async () => {
      if (!listeners.delete(onPayload) || listeners.size > 0) return;
      await this.#order({ kind: 'unlisten', channel }, 'database.unlisten').catch((error: unknown) => {
        // An engine that has ended notifies nobody.
        if (this.#ended === null) throw error;
      });
    };
  }

  /** Ends the engine in good order and gives its thread back; an engine that has stopped or fails to end takes the thread with it. */
  async close(): Promise<void> {
    try {
      if (this.#ended !== null) return;
      await this.#order({ kind: 'close' }, 'database.close');
      // What was asked meanwhile is refused when the thread ends; one that is given back would never respond to it.
      if (this.#waiting.length > 0) return;
      this.#ended = CLOSED;
      this.#isGivenBack = true;
      await this.#thread.giveBack();
    } finally {
      await this.terminate();
    }
  }

  /** Ends the thread, whatever it does, unless it has been given back. */
  async terminate(): Promise<void> {
    this.#ended ??= CLOSED;
    if (!this.#isGivenBack) await this.#thread.terminate();
  }

  async #order(order: Order, name: string): Promise<readonly Rows[]> {
    const response = this.#ended === null ? await this.#send(order) : null;
    if (response === null) throw new StatementError(name, this.#ended ?? 'no response', undefined, undefined);
    if ('failure' in response) throw this.#errorOf(response.failure);
    return response.results;
  }

  #send(order: Order): Promise<Response | null> {
    this.#thread.send(order);
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) this.#thread.ref();
    });
  }

  #receive(message: Response | Notification): void {
    if ('channel' in message) {
      for (const listener of this.#listeners.get(message.channel) ?? []) listener(message.payload);
      return;
    }
    const resolve = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#thread.unref();
    resolve?.(message);
  }

  #errorOf({ statement, reason, code, constraint, hasStopped }: Failure): Error {
    if (hasStopped) this.#end(reason);
    if (statement !== null) return new StatementError(statement, reason, code, constraint);
    return Object.assign(new Error(reason), code === undefined ? {} : { code });
  }

  #end(reason: string): void {
    this.#ended ??= reason;
    this.#refuseAll();
  }

  #refuseAll(): void {
    for (const refuse of this.#waiting.splice(0)) refuse(null);
    this.#thread.unref();
  }
}

function toObjects({ columns, rows }: Rows): Record<string, unknown>[] {
  return rows.map((values) => {
    const row: Record<string, unknown> = {};
    for (let i = 0; i < columns.length; i++) row[columns[i]!] = values[i];
    return row;
  });
}
