import type { IncomingHttpHeaders } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { LoopBudget } from '../../lib/fair/loop-budget.ts';
import type { ShareHolder } from '../../lib/fair/shares.ts';
import { errors } from '../../lib/http-client.ts';
import type { RequestBody } from '../../protocols/operations/operation.ts';
import { allConnectionsInUse, connectionFailure, givenUpUnsent, type UpstreamFailure } from './failure.ts';
import { presentableHeaders } from './headers.ts';
import { expectNoStream, expectStream } from './http2-streams.ts';
import type { Provider } from './provider.ts';

/** One request to a provider. */
export interface UpstreamRequest {
  readonly provider: Provider;
  /** The account of the call: accounts share the connections of a provider. */
  readonly account: ShareHolder;
  /** Appended to the provider's base path, such as `/chat/completions`. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: RequestBody;
}

export interface UpstreamHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Takes a response as it comes. */
export interface ResponseReceiver {
  /** Status and headers are in, before the first byte of the body. */
  receiveHead(head: UpstreamHead): void;
  /** The bytes belong to the receiver. */
  receive(chunk: Buffer): void;
}

/** A larger body is sent in parts, so that the progress of the provider is visible. */
const WHOLE_BODY_BYTES_MAX = 1024 * 1024;
const PART_BYTES = 64 * 1024;

/** What all exchanges of this process read in one iteration of the event loop. */
const reading = new LoopBudget();
/** A response is never paused for others up to this size, which few exceed whose clients wait for each of their parts. */
const READ_AT_ONCE_BYTES = 128 * 1024;
/** What a chunk costs besides its bytes. */
const CHUNK_BYTES = 256;

/**
 * In HTTP/2 undici has limits of its own. They start anew with every received byte, so they do not bound a call, but
 * when one passes, undici checks whether the connection is still alive and replaces a dead one. They have to pass
 * before ours.
 */
const HTTP2_GRACE_MS = 250;

/** The time limits of an exchange. */
const LIMITS = {
  connect: { of: 'connectMs', passed: () => new errors.ConnectTimeoutError('no connection in time') },
  take: { of: 'idleMs', passed: () => new errors.BodyTimeoutError('the provider does not take the request') },
  firstByte: { of: 'firstByteMs', passed: () => new errors.HeadersTimeoutError() },
  idle: { of: 'idleMs', passed: () => new errors.BodyTimeoutError('the provider stopped sending') },
} as const;
type TimeLimit = (typeof LIMITS)[keyof typeof LIMITS];

/**
 * A request under way.
 *
 * The time limits, one after the other (`timeouts` and `queue` of the provider):
 * - until a call that is under way ends, where the most allowed are under way: `queue.wait`
 * - until there is a connection: `connect`
 * - between two parts of a body that is sent in parts: `idle`
 * - from then on until the head of the response is complete, however slowly it comes: `firstByte`
 * - between two parts of the response: `idle`, except while the receiver has stopped the flow
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #end = Promise.withResolvers<'ended' | 'aborted'>();
  /**
   * Resolves with `ended` when the response is complete, or with `aborted` after `abort`.
   *
   * @throws UpstreamFailure if no connection is free, the connection fails, or a time limit passes.
   */
  readonly done = this.#end.promise;
  readonly #request: UpstreamRequest;
  readonly #receiver: ResponseReceiver;
  readonly #isInParts: boolean;
  readonly #graceMs: number;
  /** Gives up the place in the queue. */
  #leaveQueue: (() => void) | null = null;
  /** Lets the next call through. */
  #leaveGate: (() => void) | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  /** `null` in HTTP/1.1. */
  #stream: ClientHttp2Stream | null = null;
  #hasHead = false;
  /** What the provider has to do in time at the moment, and when that is over, by `performance.now()`. */
  #limit: TimeLimit = LIMITS.connect;
  #dueMs = Number.POSITIVE_INFINITY;
  /** Looks at the limit when it fires, since limits end and begin far more often than one passes. */
  #timer: NodeJS.Timeout | undefined;
  #firesAtMs = 0;
  #wasSent = false;
  #receivedBytes = 0;
  /** The receiver has stopped the flow. */
  #isPaused = false;
  /** Other exchanges are read first. */
  #awaitsTurn = false;
  #isOver = false;

  private constructor(request: UpstreamRequest, receiver: ResponseReceiver) {
    this.#request = request;
    this.#receiver = receiver;
    this.#graceMs = request.provider.http2 ? HTTP2_GRACE_MS : 0;
    const { body } = request;
    this.#isInParts = !Buffer.isBuffer(body) || body.length > WHOLE_BODY_BYTES_MAX;
  }

  /** Sends a request. */
  static start(request: UpstreamRequest, receiver: ResponseReceiver): Exchange {
    const exchange = new Exchange(request, receiver);
    exchange.#leaveQueue = request.provider.gate.enter(request.account, exchange);
    return exchange;
  }

  /** It is the turn of this call at the gate. */
  admitted(leave: () => void): void {
    this.#leaveGate = leave;
    this.#dispatch();
  }

  /** There is no place for this call at the gate. */
  refused(): void {
    this.#fail(allConnectionsInUse());
  }

  /** Stops the flow of the response; flow control of its connection stops the provider. */
  pause(): void {
    if (this.#isOver) return;
    this.#isPaused = true;
    this.#stopFlow();
  }

  resume(): void {
    // A timer that is set after the end would keep the process alive until it fires.
    if (!this.#isPaused || this.#isOver) return;
    this.#isPaused = false;
    if (!this.#awaitsTurn) this.#continueFlow();
  }

  #stopFlow(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#controller?.pause();
  }

  #continueFlow(): void {
    if (this.#hasHead) this.#begin(LIMITS.idle);
    this.#controller?.resume();
  }

  /** Lets other exchanges be read first, if this iteration of the event loop has read much. */
  #awaitTurn(readBytes: number): void {
    const onTurn = (): void => {
      this.#awaitsTurn = false;
      if (!this.#isPaused && !this.#isOver) this.#continueFlow();
    };
    if (reading.mayContinue(this.#request.account.accountId, readBytes, onTurn)) return;
    this.#awaitsTurn = true;
    this.#stopFlow();
  }

  /** Abandons the response and closes its connection, or its stream in HTTP/2. */
  abort(): void {
    if (!this.#ends()) return;
    this.#end.resolve('aborted');
    this.#controller?.abort(new Error('given up'));
  }

  /** Abandons the request if nothing of it has been sent yet; otherwise does nothing. */
  abortUnsent(): void {
    if (this.#controller === null) this.#fail(givenUpUnsent());
  }

  #dispatch(): void {
    const { provider, path, headers, body } = this.#request;
    const { firstByteMs, idleMs } = provider.timeouts;
    provider.pool.dispatch(
      {
        method: 'POST',
        path: provider.basePath + path,
        headers: this.#isInParts ? { ...headers, 'content-length': String(sizeOf(body)) } : headers,
        body: this.#isInParts ? this.#inParts(body) : (body as Buffer),
        // Zero: none. See HTTP2_GRACE_MS.
        headersTimeout: provider.http2 ? firstByteMs : 0,
        bodyTimeout: provider.http2 ? idleMs : 0,
      },
      this,
    );
    // A connection that was open takes the request at once.
    if (this.#controller === null && !this.#isOver) this.#begin(LIMITS.connect);
  }

  /** A request for the next part shows that the parts before it have left. */
  #inParts(body: RequestBody): Readable {
    const parts = Buffer.isBuffer(body) ? partsOf(body) : body.read();
    const limitIdle = (): void => {
      if (this.#controller !== null) this.#postpone();
    };
    async function* watched(): AsyncGenerator<Buffer> {
      for await (const part of parts) {
        limitIdle();
        yield part;
      }
    }
    const stream = Readable.from(watched(), { objectMode: false });
    // undici listens while the request is under way; a body that fails after that has no other listener.
    stream.on('error', () => undefined);
    return stream;
  }

  /**
   * There is a connection, and the request is about to be written to it. This is called again if an HTTP/2 provider
   * refused the stream before it did anything with it, and the request is about to be written once more.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) {
      controller.abort(new Error('given up'));
      return;
    }
    this.#controller = controller;
    if (this.#request.provider.http2) {
      expectStream((stream) => {
        this.#stream = stream;
      });
    }
    if (this.#isInParts) {
      // In HTTP/1.1 the head leaves with the first part.
      this.#wasSent ||= this.#request.provider.http2;
      this.#begin(LIMITS.take);
    } else {
      this.#wasSent = true;
      this.#begin(LIMITS.firstByte);
    }
  }

  onBodySent(): void {
    this.#wasSent = true;
    if (this.#request.provider.http2) expectNoStream();
  }

  onRequestSent(): void {
    this.#wasSent = true;
    if (this.#isInParts && !this.#hasHead && !this.#isOver) this.#begin(LIMITS.firstByte);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#isOver || status < 200) return;
    this.#begin(LIMITS.idle);
    const { words } = this.#request.provider.hidden;
    this.#hasHead = true;
    this.#receiver.receiveHead({ status, headers: presentableHeaders(headers, words) });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#postpone();
    this.#receivedBytes += chunk.length;
    if (this.#hasHead) this.#receiver.receive(chunk);
    const readBytes = chunk.length + CHUNK_BYTES;
    const mayWait = this.#receivedBytes > READ_AT_ONCE_BYTES && !this.#isPaused && !this.#awaitsTurn && !this.#isOver;
    if (mayWait) this.#awaitTurn(readBytes);
    else reading.count(readBytes);
  }

  onResponseEnd(): void {
    const reset = this.#stream?.rstCode ?? 0;
    if (reset !== 0) this.#fail(connectionFailure(new Error(`the stream was reset with code ${reset}`), true, true));
    if (this.#ends()) this.#end.resolve('ended');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(connectionFailure(error, this.#wasSent, this.#hasHead));
  }

  /** The limit that ran before is over. */
  #begin(limit: TimeLimit): void {
    this.#limit = limit;
    const { timeouts } = this.#request.provider;
    const nowMs = performance.now();
    this.#dueMs = nowMs + timeouts[limit.of] + this.#graceMs;
    // What follows is limited, too: a timer that fires by then need not be set anew.
    const looksAtMs = Math.min(this.#dueMs, nowMs + timeouts.idleMs + this.#graceMs);
    if (this.#timer === undefined || this.#firesAtMs > looksAtMs) this.#setTimer(looksAtMs, nowMs);
  }

  /** The provider has made progress: the same limit begins anew, unless the flow is stopped. */
  #postpone(): void {
    if (this.#isPaused || this.#awaitsTurn) return;
    const { timeouts } = this.#request.provider;
    this.#dueMs = performance.now() + timeouts[this.#limit.of] + this.#graceMs;
  }

  #setTimer(atMs: number, nowMs: number): void {
    clearTimeout(this.#timer);
    this.#firesAtMs = atMs;
    this.#timer = setTimeout(() => this.#look(performance.now()), Math.ceil(atMs - nowMs));
  }

  #look(nowMs: number): void {
    this.#timer = undefined;
    if (this.#isOver || this.#dueMs === Number.POSITIVE_INFINITY) return;
    if (this.#dueMs > nowMs) {
      this.#setTimer(this.#dueMs, nowMs);
      return;
    }
    const error = this.#limit.passed();
    const controller = this.#controller;
    this.#fail(connectionFailure(error, this.#wasSent, this.#hasHead));
    controller?.abort(error);
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#ends()) this.#end.reject(failure);
  }

  /** Returns false if it had ended before. */
  #ends(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#leaveQueue?.();
    this.#leaveGate?.();
    return true;
  }
}

function sizeOf(body: RequestBody): number {
  return Buffer.isBuffer(body) ? body.length : body.sizeBytes;
}

async function* partsOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += PART_BYTES) yield body.subarray(at, at + PART_BYTES);
}
