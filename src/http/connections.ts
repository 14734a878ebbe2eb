import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AtATime } from '../lib/fair/at-a-time.ts';
import { type Share, Shares } from '../lib/fair/shares.ts';
import type { AddressRange } from '../lib/ip-address.ts';
import type { Logger } from '../lib/logger.ts';
import type { ClientAddresses } from './client-address.ts';
import { createLingerBudget, LINGER_LIMITS, lingerBehind } from './linger.ts';
import { lookEveryMs, ReadPace } from './read-pace.ts';

export interface ConnectionLimits {
  /** The most connections at a time; one more is closed as soon as it is opened. */
  readonly connections: number;
  /** The most connections of one client at a time; half of `connections` by default. */
  readonly connectionsPerAddress?: number | undefined;
  /** Proxies of the operator, whose connections belong to many clients. */
  readonly trustedProxies?: readonly AddressRange[];
  /** How long a client may not read a waiting response, in milliseconds, before its connection is dropped; see `ReadPace`. */
  readonly clientStallTimeout: number;
}

const connections = new WeakMap<Socket, Connection>();

/** The connection of a socket that a watched server has accepted. */
export function connectionOf(socket: Socket): Connection {
  return connections.get(socket)!;
}

interface WatchParts {
  readonly addresses: ClientAddresses;
  readonly logger: Logger;
  /** Called for each connection that is closed because there are too many. */
  readonly onRefused: (address: string | undefined) => void;
}

/**
 * Makes a server keep the order of requests on each connection, and drop the connections of clients that stall. The
 * handler never sees a request before the response to the previous one has left.
 */
export function watchConnections(
  server: Server,
  handler: RequestListener,
  limits: ConnectionLimits,
  { addresses, logger, onRefused }: WatchParts,
): void {
  const { connections: connectionsMax, clientStallTimeout } = limits;
  const open = new Set<Connection>();
  const perAddress = new AtATime(perAddressMax(limits));
  const lingerBudget = createLingerBudget();
  const waitingMemory = new Shares(WAITING_BYTES_MAX);
  let hasWarned = false;
  let hasWarnedOfAddress = false;

  server.maxConnections = connectionsMax;
  // A worker would else give a connection that it has no place for back to the primary, which would offer it again and again.
  (server as Server & { dropMaxConnection: boolean }).dropMaxConnection = true;
  server.on('drop', (dropped) => {
    onRefused(dropped?.remoteAddress);
    if (hasWarned) return;
    hasWarned = true;
    logger.warn(
      { connections: connectionsMax },
      'there are as many connections as server.connections allows: more are closed',
    );
  });
  // A client that closes its sending side behind a request that only reads gets its response; see `onClientEnd`.
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
          'one address has as many connections as server.connectionsPerAddress allows: more of it are closed',
        );
      }
      return;
    }
    if (leave !== null) socket.once('close', leave);
    const holder = { accountId: network ?? '', isOnlyAccount: network === null };
    const takeMemory = (bytes: number): Share | null => waitingMemory.take(holder, bytes);
    const linger: Linger = (response) => lingerBehind(response, LINGER_LIMITS, lingerBudget, holder.accountId);
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
  const looking = setInterval(() => {
    hasWarned = false;
    hasWarnedOfAddress = false;
    const nowMs = performance.now();
    let unreadBytes = 0;
    for (const connection of open) unreadBytes += connection.unreadBytes;
    for (const connection of open) connection.look(nowMs, unreadBytes);
  }, lookEveryMs(clientStallTimeout));
  looking.unref();
  server.once('close', () => clearInterval(looking));
}

/** The most that one client may have open at a time: connections, or requests through trusted proxies. */
export function perAddressMax({ connections, connectionsPerAddress }: ConnectionLimits): number {
  return connectionsPerAddress ?? Math.max(Math.floor(connections / 2), 1);
}

/**
 * With this many requests sent ahead, no more are read; at the second number, which a single packet can still reach,
 * the connection is closed.
 */
const WAITING_PAUSE = 16;
const WAITING_MAX = 1000;
/** What requests that wait may take of the memory, on all connections; each address has its share. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** What a request takes that waits, without its headers. */
const WAITING_REQUEST_BYTES = 3 * 1024;

/** Reads the rest of a request whose response is complete. */
type Linger = (response: ServerResponse) => void;

/**
 * One connection. Requests that were sent ahead wait for their turn: only requests that read may be served at the same
 * time (RFC 9112, 9.3.2), and what stands behind a response that says `close` must not be served at all (9.6).
 */
export class Connection {
  readonly #socket: Socket;
  readonly #handler: RequestListener;
  readonly #linger: Linger;
  /** The response to the request that was passed to the handler last. */
  #responding: ServerResponse | null = null;
  #waiting: ServerResponse[] = [];
  readonly #takeMemory: (bytes: number) => Share | null;
  /** The memory of those that wait. */
  #memory: Share | null = null;
  #endsAfterResponse = false;
  #lastUrl: string | null = null;
  readonly #pace: ReadPace;

  /** `takeMemory`: for requests that wait; `null` if there is none. */
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

  /** What was written and the client has not read. */
  get unreadBytes(): number {
    return this.#socket.writableLength;
  }

  /** The response that is under way, or due. */
  get responding(): ServerResponse | null {
    return this.#responding?.closed === false ? this.#responding : null;
  }

  /** Whether the last request that was passed to the handler has its response, while its body has not ended. */
  get isRespondedEarly(): boolean {
    const last = this.#responding;
    return last?.writableEnded === true && !last.req.complete;
  }

  /** The target of the request that came last. */
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

  /**
   * The last bytes cannot be parsed. Whole requests before them still get their responses, and the connection ends
   * behind those; returns whether there are any.
   */
  endBehindWholeRequests(): boolean {
    if (this.#waiting.at(-1)?.req.complete === false) this.#memory?.shrink(memoryOf(this.#waiting.pop()!));
    const last = this.#waiting.at(-1) ?? this.responding;
    if (last === null || last.writableEnded || !last.req.complete) return false;
    if (!last.headersSent) last.shouldKeepAlive = false;
    else if (!this.#endsAfterResponse) last.once('close', () => this.#socket.destroySoon());
    this.#endsAfterResponse = true;
    return true;
  }

  /**
   * The client has closed its sending side. It may have closed its receiving side as well: a client that leaves looks
   * the same until something is sent to it. A request that only reads gets its response, which costs nothing. Any other
   * request costs money, so there such a client counts as gone.
   */
  onClientEnd(): void {
    const { responding } = this;
    if (responding === null || responding.writableEnded || isSafe(responding)) return;
    this.#socket.destroy();
  }

  /** Requests that still wait are not served. */
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

  /** Drops a client that is too slow for what it, and all clients together, have not read. */
  look(nowMs: number, allUnreadBytes: number): void {
    if (!this.#isHeldUpByClient()) {
      this.#pace.isServed();
      return;
    }
    const unread = { bytes: this.unreadBytes, allBytes: allUnreadBytes };
    if (this.#pace.isTooSlow(unread, bytesTaken(this.#socket), nowMs)) this.#socket.destroy();
  }

  /** The client does not read its response, or it has its response and still sends the body of its request. */
  #isHeldUpByClient(): boolean {
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
    // The response before this one has closed the connection.
    if (!this.#socket.writable) return;
    if (this.#socket.readableEnded && !isSafe(response)) {
      this.#socket.destroySoon();
      return;
    }
    this.#responding = response;
    // The response is complete: the unread rest of the request will not be used.
    response.on('prefinish', () => this.#linger(response));
    this.#handler(response.req, response);
  }
}

function memoryOf({ req }: ServerResponse): number {
  return req.rawHeaders.reduce((bytes, { length }) => bytes + length, WAITING_REQUEST_BYTES + (req.url ?? '').length);
}

/** Whether the request only reads (RFC 9110, 9.2.1). */
function isSafe({ req }: ServerResponse): boolean {
  return req.method === 'GET' || req.method === 'HEAD' || req.method === 'OPTIONS';
}

interface WithHandle {
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

/**
 * The written bytes that the system has taken. A write counts as a whole only once it is done, and 32 MiB may be one;
 * Node's own socket timeouts look into the queue in the same way, but any byte from the client restarts them.
 */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as unknown as WithHandle;
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}
