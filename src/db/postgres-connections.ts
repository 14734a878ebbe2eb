import { Socket } from 'node:net';
import pg from 'pg';
import type { Logger } from '../lib/logger.ts';
import { responseTimers } from '../lib/timers.ts';
import {
  type ConnectionFigures,
  type Parameter,
  type Query,
  type ReadThenWrite,
  type Statement,
  type StoredRow,
  toSqlText,
} from './database.ts';
import { asStatement, sqlState, toStatementError } from './errors.ts';
import { type Command, Message, prepareText, type RowShape, type Rows } from './postgres-message.ts';

/** Equal to the time that calls wait for the database (`db/questions/database-questions.ts`). */
const CONNECT_TIMEOUT_MS = 2_000;

/** Time limit for closing a connection: one to a server that does not respond must not keep the process alive. */
const GOODBYE_MS = 1_000;

/** A connection that can be destroyed at once. Closing it normally would require a response from the database. */
export class Connection extends pg.Client {
  readonly #socket: Socket;
  readonly #connectMaxMs: number;
  /** Names of statements that were prepared by SQL `prepare`. */
  readonly #prepared = new Set<string>();
  readonly #shapes = new Map<string, RowShape>();
  /** Whether the connection is unusable, because a message got no response. */
  isLost = false;
  isLent = false;

  constructor(config: pg.ClientConfig = {}) {
    const socket = new Socket();
    // `connect` has its own time limit. That of the driver would fail connections whose responses this process has not read yet.
    super({ ...config, connectionTimeoutMillis: 0, stream: () => socket });
    this.#socket = socket;
    this.#connectMaxMs = config.connectionTimeoutMillis ?? CONNECT_TIMEOUT_MS;
    // Without a listener, this event would end the process. The pending statement fails with the same error.
    this.on('error', () => {
      this.isLost = true;
    });
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const late = (): void => void this.#socket.destroy(new Error('timeout expired'));
    const cancel = responseTimers.after(this.#connectMaxMs, late);
    this.once('connect', cancel);
    this.once('end', cancel);
    if (callback === undefined) return super.connect();
    super.connect(callback);
    return undefined;
  }

  /** Connects a connection outside of a pool. */
  async open(): Promise<void> {
    await asStatement('database.connect', () => this.connect());
  }

  /** Sends a message and returns the rows of each command. `name`: the statement or transaction, for errors. */
  ask(name: string, message: string | readonly Command[] | pg.QueryConfig): Promise<readonly Rows[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Rows[]>();
    const callback = (error: unknown, results: readonly Rows[]): void => {
      if (error) {
        if (sqlState(error) === undefined) this.isLost = true;
        reject(toStatementError(name, error));
      } else resolve(results);
    };
    if (typeof message === 'object' && 'text' in message) {
      this.query<StoredRow>(message, (error, result) => callback(error, [result?.rows ?? []]));
    } else {
      const sent = new Message(typeof message === 'string' ? [message] : message, this.#shapes);
      sent.callback = callback;
      this.query(sent);
    }
    return promise;
  }

  /** Runs a statement, which the driver prepares under its name. */
  async run<Row>({ name, text }: Statement, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const [rows] = await this.ask(name, { name, text, values: parameters.map(toSqlText) });
    return rows as Row[];
  }

  /** Runs the transaction as two messages; the driver would send one per statement. `first`: what Citus needs before the reads. */
  async readThenWrite<Result>(first: readonly Query[], transaction: ReadThenWrite<Result>): Promise<Result> {
    const { name, reads, decide } = transaction;
    const isOnCitus = first.length > 0;
    const read = isOnCitus ? [...first, ...reads] : reads;
    try {
      for (const { statement } of read)
        if (!this.#prepared.has(statement.name)) await this.#prepare(statement, isOnCitus);
      const results = await this.ask(name, ['begin', ...read]);
      const { writes, result } = decide(results.slice(1 + first.length));
      for (const { statement } of writes)
        if (!this.#prepared.has(statement.name)) await this.#prepare(statement, isOnCitus);
      await this.ask(name, [...writes, 'commit']);
      return result;
    } catch (error) {
      await this.rollBack();
      throw error;
    }
  }

  async rollBack(): Promise<void> {
    if (!this.isLost) await this.ask('database.rollback', 'rollback').catch(() => this.destroy());
  }

  async #prepare(statement: Statement, isOnCitus: boolean): Promise<void> {
    const text = isOnCitus ? (statement.onCitus ?? statement.text) : statement.text;
    await this.ask(statement.name, prepareText(statement, text));
    this.#prepared.add(statement.name);
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const late = setTimeout(() => this.#socket.destroy(), GOODBYE_MS);
    // The open connection keeps the process alive; the timer must not.
    late.unref();
    this.once('end', () => clearTimeout(late));
    if (callback === undefined) return super.end();
    super.end(callback);
    return undefined;
  }

  destroy(): void {
    this.isLost = true;
    this.#socket.destroy();
  }

  /** Called when the signal aborts for which the connection works. */
  handleEvent(): void {
    this.destroy();
  }
}

/** Connections to a server. A connection that gets no response in time is destroyed. */
export class ConnectionPool {
  readonly #name: string;
  readonly #pool: pg.Pool;
  readonly #connectionsMax: number;
  readonly #open = new Set<Connection>();
  /** Called when work was aborted that used or awaited a connection. */
  readonly #onGivenUp: () => void;
  #begun = 0;
  #waitedMs = 0;

  constructor(name: string, config: pg.PoolConfig & { readonly max: number }, logger: Logger, onGivenUp: () => void) {
    this.#name = name;
    this.#connectionsMax = config.max;
    this.#onGivenUp = onGivenUp;
    this.#pool = new pg.Pool({ ...config, Client: Connection });
    this.#pool.on('error', (error) => {
      logger.warn({ err: toStatementError('database.idle', error) }, 'an idle database connection failed');
    });
    this.#pool.on('connect', (client) => this.#open.add(client as pg.ClientBase as Connection));
    this.#pool.on('remove', (client) => this.#open.delete(client as pg.ClientBase as Connection));
  }

  /** Runs work on a connection. When `signal` aborts, this fails at once with its reason and destroys the connection. */
  async use<Result>(work: (connection: Connection) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    let connection: Connection | null = null;
    try {
      connection = await this.#lend(signal);
      signal?.addEventListener('abort', connection);
      return await work(connection);
    } catch (error) {
      if (!signal?.aborted) throw error;
      this.#onGivenUp();
      throw signal.reason;
    } finally {
      if (connection !== null) this.#giveBack(connection, signal);
    }
  }

  get figures(): ConnectionFigures {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return {
      name: this.#name,
      used: totalCount - idleCount,
      connectionsMax: this.#connectionsMax,
      waiting: waitingCount,
      begun: this.#begun,
      waitedMs: this.#waitedMs,
      refused: 0,
    };
  }

  destroyIdle(): void {
    for (const connection of this.#open) if (!connection.isLent) connection.destroy();
  }

  /** Closes all connections. Resolves when their sockets are closed, so that a server that stops afterwards disconnects nobody. */
  async end(): Promise<void> {
    await this.#pool.end();
    // Waits for the sockets, because the pool itself does not.
    while (this.#open.size > 0) await new Promise((resolve) => this.#pool.once('remove', resolve));
  }

  /** Takes a connection. A connection that was destroyed while idle is discarded: the pool may still offer it until its socket closes. */
  async #lend(signal: AbortSignal | undefined): Promise<Connection> {
    const askedAtMs = performance.now();
    for (;;) {
      const client = await this.#connect(signal);
      const connection = client as pg.ClientBase as Connection;
      if (!connection.isLost) {
        connection.isLent = true;
        this.#begun++;
        this.#waitedMs += performance.now() - askedAtMs;
        return connection;
      }
      client.release(true);
    }
  }

  #giveBack(connection: Connection, signal: AbortSignal | undefined): void {
    signal?.removeEventListener('abort', connection);
    connection.isLent = false;
    if (connection.isLost) connection.destroy();
    (connection as pg.ClientBase as pg.PoolClient).release(connection.isLost);
  }

  #connect(signal: AbortSignal | undefined): Promise<pg.PoolClient> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>();
    if (signal?.aborted) {
      reject(signal.reason);
      return promise;
    }
    const { idleCount, waitingCount } = this.#pool;
    let onAbort: (() => void) | null = null;
    // If a connection is idle, the pool provides it at once, so an abort needs no handling.
    if (signal !== undefined && idleCount <= waitingCount) {
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort);
    }
    this.#pool.connect((error, client) => {
      if (onAbort !== null) signal!.removeEventListener('abort', onAbort);
      if (client === undefined) reject(toStatementError('database.connect', error));
      // The wait was aborted, so nothing uses the connection.
      else if (signal?.aborted) {
        client.release();
        reject(signal.reason);
      } else resolve(client);
    });
    return promise;
  }
}
