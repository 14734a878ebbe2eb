import { Socket } from 'node:net';
import pg from 'pg';
import type { Logger } from '../lib/logger.ts';
import { type ConnectionFigures, type Parameter, type Statement, toSqlText } from './database.ts';
import { asStatement, sqlState, toStatementError } from './errors.ts';

/** As long as a question of a call has (`db/questions/database-questions.ts`): a connection that takes longer helps nobody. */
const CONNECT_TIMEOUT_MS = 2_000;

/** How long a server has to close a connection that was ended. One that says nothing would keep the process alive. */
const GOODBYE_MS = 1_000;

/** A connection that can be cut off: a database that does not respond does not take part in closing it. */
export class Connection extends pg.Client {
  readonly #socket: Socket;
  /** Whether a message got no response from the server, so that nothing more is expected from this connection. */
  isLost = false;

  constructor(config: pg.ClientConfig = {}) {
    const socket = new Socket();
    super({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, ...config, stream: () => socket });
    this.#socket = socket;
    // A statement under way fails with the same error. Without a listener the event would end the process.
    this.on('error', () => {
      this.isLost = true;
    });
  }

  /** Connects, if no pool does. */
  async open(): Promise<void> {
    await asStatement('database.connect', () => this.connect());
  }

  /**
   * Sends a message of the simple or the extended protocol and returns the response: of several commands, of each. The first
   * command that fails ends them. `name`: of the statement or transaction, for errors.
   */
  async ask(name: string, message: string | pg.QueryConfig): Promise<readonly pg.QueryResult[]> {
    try {
      const results: pg.QueryResult | pg.QueryResult[] = await this.query(message);
      return Array.isArray(results) ? results : [results];
    } catch (error) {
      if (sqlState(error) === undefined) this.isLost = true;
      throw toStatementError(name, error);
    }
  }

  /** Runs a statement, prepared by the driver under its name. */
  async run<Row>({ name, text }: Statement, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const [result] = await this.ask(name, { name, text, values: parameters.map(toSqlText) });
    return result!.rows as Row[];
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const late = setTimeout(() => this.#socket.destroy(), GOODBYE_MS);
    // While the connection is open, that keeps the process alive.
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
}

/** A pool of connections to a server. A connection that gets no response is destroyed, and never used again. */
export class ConnectionPool {
  readonly #name: string;
  readonly #pool: pg.Pool;
  readonly #connectionsMax: number;
  readonly #idle = new Set<Connection>();
  /** Those whose sockets are open. */
  readonly #open = new Set<Connection>();
  #begun = 0;
  #waitedMs = 0;

  constructor(name: string, config: pg.PoolConfig & { readonly max: number }, logger: Logger) {
    this.#name = name;
    this.#connectionsMax = config.max;
    this.#pool = new pg.Pool({ ...config, Client: Connection });
    this.#pool.on('error', (error) => {
      logger.warn({ err: toStatementError('database.idle', error) }, 'an idle database connection failed');
    });
    this.#pool.on('acquire', (client) => this.#idle.delete(asConnection(client)));
    this.#pool.on('release', (_error, client) => this.#idle.add(asConnection(client)));
    this.#pool.on('connect', (client) => this.#open.add(asConnection(client)));
    this.#pool.on('remove', (client) => {
      this.#idle.delete(asConnection(client));
      this.#open.delete(asConnection(client));
    });
  }

  /**
   * Lends a connection for some work. When `signal` aborts, this fails with its reason at once, and the connection is
   * destroyed.
   */
  async use<Result>(work: (connection: Connection) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const client = await this.#lend(signal);
    const connection = asConnection(client);
    const onAbort = (): void => connection.destroy();
    signal?.addEventListener('abort', onAbort);
    try {
      return await work(connection);
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      if (connection.isLost) connection.destroy();
      client.release(connection.isLost);
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

  /** Destroys the connections that nobody uses. */
  destroyIdle(): void {
    for (const connection of this.#idle) connection.destroy();
  }

  /** Resolves when all sockets are closed, so that a server which is stopped then has nobody to disconnect. */
  async end(): Promise<void> {
    await this.#pool.end();
    // The pool itself does not wait for the sockets.
    while (this.#open.size > 0) await new Promise((resolve) => this.#pool.once('remove', resolve));
  }

  /** One that was destroyed while nobody used it is among the idle ones until its socket has closed. */
  async #lend(signal: AbortSignal | undefined): Promise<pg.PoolClient> {
    const askedAtMs = performance.now();
    for (;;) {
      const client = await (signal === undefined ? this.#connect() : this.#connectInTime(signal));
      if (!asConnection(client).isLost) {
        this.#begun++;
        this.#waitedMs += performance.now() - askedAtMs;
        return client;
      }
      client.release(true);
    }
  }

  #connect(): Promise<pg.PoolClient> {
    return asStatement('database.connect', () => this.#pool.connect());
  }

  #connectInTime(signal: AbortSignal): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const connecting = this.#connect();
      const onAbort = (): void => {
        reject(signal.reason);
        // Nobody waits for it any more: it is for others, if it still comes.
        connecting.then(
          (client) => client.release(),
          () => undefined,
        );
      };
      signal.addEventListener('abort', onAbort);
      connecting.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }
}

/** The pool makes its clients by the class that it is given. */
const asConnection = (client: pg.ClientBase): Connection => client as unknown as Connection;
