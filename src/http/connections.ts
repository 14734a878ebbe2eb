import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AtATime } from '../lib/fair/at-a-time.ts';
import { type Share, Shares } from '../lib/fair/shares.ts';
import type { AddressRange } from '../lib/ip-address.ts';
import type { Logger } from '../lib/logger.ts';
import type { ClientAddresses } from './client-address.ts';
import { createLingerBudget, LINGER_LIMITS, lingerAfter } from './linger.ts';
import { checkEveryMs, ReadPace } from './read-pace.ts';

export interface ConnectionLimits {
  /** Maximum number of open connections. Further ones are closed at once. */
  readonly connections: number;
  /** Maximum number of open connections of one client; absent: half of `connections`. */
  readonly connectionsPerAddress?: number | undefined;
  /** Addresses of the operator's proxies, whose connections belong to many clients. */
  readonly trustedProxies?: readonly AddressRange[];
  /** Time limit in milliseconds for a client that does not read its response; see `ReadPace`. */
  readonly clientStallTimeout: number;
}

const connections = new WeakMap<Socket, Connection>();

/** Returns the connection of a socket, whose server must be watched by `watchConnections`. */
export function connectionOf(socket: Socket): Connection {
  return connections.get(socket)!;
}

interface WatchDependencies {
  readonly addresses: ClientAddresses;
  readonly logger: Logger;
  /** Called for each connection that is closed because of a limit. */
  readonly onRefused: (address: string | undefined) => void;
}

/** Makes a server serve the requests of each connection in order, one at a time, and close the connections of clients that stall. */
export function watchConnections(
  server: Server,
  handler: RequestListener,
  limits: ConnectionLimits,
  { addresses, logger, onRefused }: WatchDependencies,
): void {
  const { connections: connectionsMax, clientStallTimeout } = limits;
  const open = new Set<Connection>();
  const perAddress = new AtATime(perAddressMax(limits));
  const lingerBudget = createLingerBudget();
  const waitingMemory = new Shares(WAITING_BYTES_MAX);
  let hasWarned = false;
  let hasWarnedOfAddress = false;

  server.maxConnections = connectionsMax;
  // If this is not set, a worker gives a connection above the limit back to the primary process, which offers it to the workers again.
  (server as Server & { dropMaxConnection: boolean }).dropMaxConnection = true;
  server.on('drop', (dropped) => {
    onRefused(dropped?.remoteAddress);
    if (hasWarned) return;
    hasWarned = true;
    logger.warn(
      { connections: connectionsMax },
      'the limit server.connections is reached; closing further connections',
    );
  });
  // If a client closes its sending side after a safe request, it still gets its response; see `onClientEnd`.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  server.on('connection', (socket) => {
    const network = addresses.ofPeer(socket.remoteAddress);
    const leave = network === null ? null : perAddress.take(network);
    if (network !== null && leave === null) {
      onRefused(socket.remoteAddress);
      socket.destroy();
      if (!hasWarnedOfAddress) {
        hasWarnedOfAddress = true;
        logger.warn(
          { address: network, connectionsPerAddress: perAddressMax(limits) },
          'an address reached the limit server.connectionsPerAddress; closing its further connections',
        );
      }
      return;
    }
    if (leave !== null) socket.once('close', leave);
    const tenant = { accountId: network ?? '', isOnlyAccount: network === null };
    const takeMemory = (bytes: number): Share | null => waitingMemory.take(tenant, bytes);
    const linger: Linger = (response) => lingerAfter(response, LINGER_LIMITS, lingerBudget, tenant.accountId);
    const connection = new Connection(socket, handler, linger, clientStallTimeout, takeMemory);
    connections.set(socket, connection);
    open.add(connection);
    socket.once('close', () => {
      open.delete(connection);
      connection.onClosed();
    });
    socket.once('end', () => connection.onClientEnd());
  });
  server.on('request', (request, response) => connectionOf(request.socket).take(response));
  const checks = setInterval(() => {
    hasWarned = false;
    hasWarnedOfAddress = false;
    const nowMs = performance.now();
    let unreadBytes = 0;
    for (const connection of open) unreadBytes += connection.unreadBytes;
    for (const connection of open) connection.check(nowMs, unreadBytes);
  }, checkEveryMs(clientStallTimeout));
  checks.unref();
  server.once('close', () => clearInterval(checks));
}

/** Returns the maximum for one client: of open connections or, behind trusted proxies, of concurrent requests. */
export function perAddressMax({ connections, connectionsPerAddress }: ConnectionLimits): number {
  return connectionsPerAddress ?? Math.max(Math.floor(connections / 2), 1);
}

/** If more pipelined requests than this wait, the gateway stops reading from the connection. One packet can contain more. */
const WAITING_PAUSE = 16;
/** If more pipelined requests than this wait, the connection is closed. */
const WAITING_MAX = 1000;
/** Maximum memory of pipelined requests on all connections. `Shares` divides it between the networks of clients. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** Assumed memory of a pipelined request without its headers. */
const WAITING_REQUEST_BYTES = 3 * 1024;

/** Reads what is left of a request whose response is complete. */
type Linger = (response: ServerResponse) => void;

/** A connection of a client. Pipelined requests wait, because only safe ones may be served concurrently (RFC 9112, 9.3.2). */
export class Connection {
  readonly #socket: Socket;
  readonly #handler: RequestListener;
  readonly #linger: Linger;
  /** Response to the last request that was passed to the handler. */
  #responding: ServerResponse | null = null;
  #waiting: ServerResponse[] = [];
  readonly #takeMemory: (bytes: number) => Share | null;
  /** Memory of the requests that wait. */
  #memory: Share | null = null;
  #endsAfterResponse = false;
  #lastUrl: string | null = null;
  readonly #pace: ReadPace;

  /** @param takeMemory takes memory for requests that wait; returns `null` if there is none */
  constructor(
    socket: Socket,
    handler: RequestListener,
    linger: Linger,
    stallTimeoutMs: number,
    takeMemory: (bytes: number) => Share | null,
  ) {
    this.#takeMemory = takeMemory;
    this.#socket = socket;
    this.#handler = handler;
    this.#linger = linger;
    this.#pace = new ReadPace(stallTimeoutMs);
  }

  get unreadBytes(): number {
    return this.#socket.writableLength;
  }

  /** The response that is being sent, or that the handler will send next; `null`: none. */
  get responding(): ServerResponse | null {
    return this.#responding?.closed === false ? this.#responding : null;
  }

  /** Whether the last response is complete, but the body of its request has not ended. */
  get isRespondedEarly(): boolean {
    const last = this.#responding;
    return last?.writableEnded === true && !last.req.complete;
  }

  get lastUrl(): string | null {
    return this.#lastUrl;
  }

  take(response: ServerResponse): void {
    this.#lastUrl = response.req.url ?? null;
    const { responding } = this;
    if (responding === null && this.#waiting.length === 0) {
      this.#hand(response);
      return;
    }
    if (!this.#holdMemory(response)) {
      this.#socket.destroy();
      return;
    }
    this.#waiting.push(response);
    if (this.#waiting.length === 1) responding?.once('close', () => this.#next());
    if (this.#waiting.length === WAITING_PAUSE) this.#socket.pause();
    if (this.#waiting.length === WAITING_MAX) this.#socket.destroy();
  }

  /** Makes the connection close after the responses to all complete requests. Returns whether there are any. Called after a parse error. */
  closeAfterCompleteRequests(): boolean {
    if (this.#waiting.at(-1)?.req.complete === false) this.#memory?.shrink(memoryOf(this.#waiting.pop()!));
    const last = this.#waiting.at(-1) ?? this.responding;
    if (last === null || last.writableEnded || !last.req.complete) return false;
    if (!last.headersSent) last.shouldKeepAlive = false;
    else if (!this.#endsAfterResponse) last.once('close', () => this.#socket.destroySoon());
    this.#endsAfterResponse = true;
    return true;
  }

  /**
   * Called when the client has closed its sending side. It may have disconnected completely, which the server notices only when it sends. A
   * safe request costs nothing, so it is still answered. Other requests are cancelled.
   */
  onClientEnd(): void {
    const { responding } = this;
    if (responding === null || responding.writableEnded || isSafe(responding)) return;
    this.#socket.destroy();
  }

  /** Called when the connection is closed. */
  onClosed(): void {
    this.#waiting = [];
    this.#memory?.release();
  }

  /** Takes memory for a request that waits. Returns false if there is none. */
  #holdMemory(response: ServerResponse): boolean {
    const bytes = memoryOf(response);
    if (this.#memory !== null) return this.#memory.grow(bytes);
    this.#memory = this.#takeMemory(bytes);
    return this.#memory !== null;
  }

  /** Closes the connection if the client reads too slowly. */
  check(nowMs: number, allUnreadBytes: number): void {
    if (!this.#waitsForClient()) {
      this.#pace.isServed();
      return;
    }
    const unread = { bytes: this.unreadBytes, allBytes: allUnreadBytes };
    if (this.#pace.isTooSlow(unread, bytesTaken(this.#socket), nowMs)) this.#socket.destroy();
  }

  /** Whether the client has not read everything, or still sends a body after its response. */
  #waitsForClient(): boolean {
    return this.#socket.writableLength > 0 || (this.#responding?.closed === true && !this.#responding.req.complete);
  }

  #next(): void {
    const response = this.#waiting.shift();
    if (response === undefined) return;
    this.#memory?.shrink(memoryOf(response));
    if (this.#waiting.length === WAITING_PAUSE - 1) this.#socket.resume();
    if (this.#waiting.length > 0) response.once('close', () => this.#next());
    this.#hand(response);
  }

  #hand(response: ServerResponse): void {
    // The previous response has closed the connection.
    if (!this.#socket.writable) return;
    if (this.#socket.readableEnded && !isSafe(response)) {
      this.#socket.destroySoon();
      return;
    }
    this.#responding = response;
    // Once the response is complete, the rest of the request is not needed.
    response.on('prefinish', () => this.#linger(response));
    this.#handler(response.req, response);
  }
}

function memoryOf({ req }: ServerResponse): number {
  return req.rawHeaders.reduce((bytes, { length }) => bytes + length, WAITING_REQUEST_BYTES + (req.url ?? '').length);
}

/** Whether the method of the request is safe (RFC 9110, 9.2.1). */
function isSafe({ req }: ServerResponse): boolean {
  return req.method === 'GET' || req.method === 'HEAD' || req.method === 'OPTIONS';
}

interface WithHandle {
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

/** Returns the written bytes that the system has accepted. `bytesWritten` would count a write of up to 32 MiB only at its end. */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as unknown as WithHandle;
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}
