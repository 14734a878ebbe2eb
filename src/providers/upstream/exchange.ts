import type { IncomingHttpHeaders } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { PeriodBudget } from '../../lib/fair/period-budget.ts';
import type { Tenant } from '../../lib/fair/shares.ts';
import { errors } from '../../lib/http-client.ts';
import type { RequestBody } from '../../protocols/operations/operation.ts';
import {
  allConnectionsInUse,
  connectionFailure,
  givenUpUnsent,
  SilenceError,
  type UpstreamFailure,
} from './failure.ts';
import { presentableHeaders } from './headers.ts';
import { expectNoStream, expectStream } from './http2-streams.ts';
import type { Provider } from './provider.ts';

export interface UpstreamRequest {
  readonly provider: Provider;
  readonly account: Tenant;
  /** Appended to the provider's base path, such as `/chat/completions`. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: RequestBody;
  /** Longest wait for the first byte of the response's body; absent: only the timeouts of the provider apply. */
  readonly silenceMs?: number;
  /** Receives the headers as the provider sent them; absent: nobody reads them. */
  readonly onHeaders?: (headers: IncomingHttpHeaders) => void;
}

export interface UpstreamHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface ResponseReceiver {
  receiveHead(head: UpstreamHead): void;
  /** Receives a chunk of the body. The bytes then belong to the receiver. */
  receive(chunk: Buffer): void;
}

/** Maximum bytes of a body that is sent at once. Larger bodies are sent in chunks, so that progress is visible. */
const WHOLE_BODY_BYTES_MAX = 1024 * 1024;
const SENT_CHUNK_BYTES = 64 * 1024;

/** Limits the bytes that all responses together read per iteration of the event loop: Node reads up to 32 times from a fast socket. */
const reading = new PeriodBudget({ amountMax: 512 * 1024, resumedMax: 8, inNextPeriod: setImmediate });
/** Bytes that one response may read before it is paused in favor of others. */
const READ_AT_ONCE_BYTES = 128 * 1024;
/** Bytes that each chunk counts against the limit in addition to its size. */
const CHUNK_COST_BYTES = 256;

/**
 * In HTTP/2, the gateway's timeouts are this much longer than undici's. Every received byte restarts undici's timeouts, so they cannot
 * limit a call; but when one expires, undici replaces a connection that no longer works.
 */
const HTTP2_GRACE_MS = 250;

const LIMITS = {
  connect: { of: 'connectMs', passed: () => new errors.ConnectTimeoutError('no connection was available in time') },
  take: { of: 'idleMs', passed: () => new errors.BodyTimeoutError('the provider stopped reading the request') },
  firstByte: { of: 'firstByteMs', passed: () => new errors.HeadersTimeoutError() },
  idle: { of: 'idleMs', passed: () => new errors.BodyTimeoutError('the provider stopped sending') },
} as const;
type TimeLimit = (typeof LIMITS)[keyof typeof LIMITS];

/**
 * A request in flight. Its timeouts in order (`timeouts` and `queue` of the provider):
 * - `queue.wait`: until the call is admitted
 * - `connect`: until there is a connection
 * - `idle`: between two chunks of the request
 * - `firstByte`: from the end of the request until the head of the response
 * - `idle`: between two chunks of the response, except while the receiver has paused it
 * In addition, `silenceMs` limits the time from the end of the request until the first byte of the response's body.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #end = Promise.withResolvers<'ended' | 'aborted'>();
  /** Settles when the exchange is over. @throws UpstreamFailure if no connection is free, the connection fails, or a timeout expires */
  readonly done = this.#end.promise;
  readonly #request: UpstreamRequest;
  readonly #receiver: ResponseReceiver;
  readonly #sendsInChunks: boolean;
  readonly #graceMs: number;
  #leaveQueue: (() => void) | null = null;
  #leaveGate: (() => void) | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  /** The HTTP/2 stream of the request; `null` in HTTP/1.1. */
  #stream: ClientHttp2Stream | null = null;
  #hasHead = false;
  /** When the current timeout expires, on the clock of `performance.now()`. */
  #limit: TimeLimit = LIMITS.connect;
  #dueMs = Number.POSITIVE_INFINITY;
  /** When the silence before the first byte of the body lasts too long. */
  #silentUntilMs = Number.POSITIVE_INFINITY;
  /** One timer for all timeouts: when it fires, it checks whether the current one has expired. A timer for each would cost more. */
  #timer: NodeJS.Timeout | undefined;
  #firesAtMs = 0;
  #wasSent = false;
  #receivedBytes = 0;
  #isPaused = false;
  #isYielding = false;
  #isOver = false;

  private constructor(request: UpstreamRequest, receiver: ResponseReceiver) {
    this.#request = request;
    this.#receiver = receiver;
    this.#graceMs = request.provider.http2 ? HTTP2_GRACE_MS : 0;
    const { body } = request;
    this.#sendsInChunks = !Buffer.isBuffer(body) || body.length > WHOLE_BODY_BYTES_MAX;
  }

  static start(request: UpstreamRequest, receiver: ResponseReceiver): Exchange {
    const exchange = new Exchange(request, receiver);
    exchange.#leaveQueue = request.provider.gate.enter(request.account, exchange);
    return exchange;
  }

  admitted(leave: () => void): void {
    this.#leaveGate = leave;
    this.#dispatch();
  }

  refused(): void {
    this.#fail(allConnectionsInUse());
  }

  /** Stops reading. The flow control of the connection then makes the provider stop sending. */
  pause(): void {
    if (this.#isOver) return;
    this.#isPaused = true;
    this.#stopFlow();
  }

  resume(): void {
    // An exchange that is over must not set a timer again, which would keep the process alive.
    if (!this.#isPaused || this.#isOver) return;
    this.#isPaused = false;
    if (!this.#isYielding) this.#continueFlow();
  }

  #stopFlow(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#controller?.pause();
  }

  #continueFlow(): void {
    if (this.#hasHead) this.#begin(LIMITS.idle);
    this.#controller?.resume();
  }

  #yieldIfNeeded(readBytes: number): void {
    const onResume = (): void => {
      this.#isYielding = false;
      if (!this.#isPaused && !this.#isOver) this.#continueFlow();
    };
    if (reading.spend(this.#request.account.accountId, readBytes, onResume) === null) return;
    this.#isYielding = true;
    this.#stopFlow();
  }

  /** Abandons the response and closes its connection; in HTTP/2, only its stream. */
  abort(): void {
    if (!this.#ends()) return;
    this.#end.resolve('aborted');
    this.#controller?.abort(new Error('aborted'));
  }

  abortUnsent(): void {
    if (this.#controller === null) this.#fail(givenUpUnsent());
  }

  #dispatch(): void {
    const { provider, path, headers, body } = this.#request;
    const { firstByteMs, idleMs } = provider.timeouts;
    provider.pool.dispatch(
      {
        method: 'POST',
        path: provider.basePath + path + provider.query,
        headers: this.#sendsInChunks ? { ...headers, 'content-length': String(sizeOf(body)) } : headers,
        body: this.#sendsInChunks ? this.#asChunks(body) : (body as Buffer),
        // In HTTP/1.1, undici's own timeouts are switched off by 0. For HTTP/2, see `HTTP2_GRACE_MS`.
        headersTimeout: provider.http2 ? firstByteMs : 0,
        bodyTimeout: provider.http2 ? idleMs : 0,
      },
      this,
    );
    // `dispatch` starts the request at once if a connection is open. Otherwise the connect timeout begins.
    if (this.#controller === null && !this.#isOver) this.#begin(LIMITS.connect);
  }

  /** Streams a body in chunks. Reading the next chunk means that the earlier ones were sent, so it restarts the idle timeout. */
  #asChunks(body: RequestBody): Readable {
    const chunks = Buffer.isBuffer(body) ? chunksOf(body) : body.read();
    const limitIdle = (): void => {
      if (this.#controller !== null) this.#postpone();
    };
    async function* watched(): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        limitIdle();
        yield chunk;
      }
    }
    const stream = Readable.from(watched(), { objectMode: false });
    // undici removes its error listener at the end of the request; a later error of the body would be unhandled.
    stream.on('error', () => undefined);
    return stream;
  }

  /** Called before the request is written, and again if an HTTP/2 provider refused the stream without processing it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) {
      controller.abort(new Error('aborted'));
      return;
    }
    this.#controller = controller;
    if (this.#request.provider.http2) {
      expectStream((stream) => {
        this.#stream = stream;
      });
    }
    if (this.#sendsInChunks) {
      // HTTP/1.1 sends the head together with the first chunk, so nothing was sent yet. HTTP/2 sends it now.
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
    if (this.#sendsInChunks && !this.#hasHead && !this.#isOver) this.#begin(LIMITS.firstByte);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#isOver || status < 200) return;
    this.#begin(LIMITS.idle);
    const { words } = this.#request.provider.hidden;
    this.#hasHead = true;
    this.#request.onHeaders?.(headers);
    this.#receiver.receiveHead({ status, headers: presentableHeaders(headers, words) });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#silentUntilMs = Number.POSITIVE_INFINITY;
    this.#postpone();
    this.#receivedBytes += chunk.length;
    if (this.#hasHead) this.#receiver.receive(chunk);
    const readBytes = chunk.length + CHUNK_COST_BYTES;
    const mayWait = this.#receivedBytes > READ_AT_ONCE_BYTES && !this.#isPaused && !this.#isYielding && !this.#isOver;
    if (mayWait) this.#yieldIfNeeded(readBytes);
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

  #begin(limit: TimeLimit): void {
    this.#limit = limit;
    const { timeouts } = this.#request.provider;
    const nowMs = performance.now();
    if (limit === LIMITS.firstByte) this.#silentUntilMs = nowMs + (this.#request.silenceMs ?? Number.POSITIVE_INFINITY);
    this.#dueMs = Math.min(nowMs + timeouts[limit.of] + this.#graceMs, this.#silentUntilMs);
    // No later timeout is longer than this, so a timer that fires by then can stay as it is.
    const checkAtMs = Math.min(this.#dueMs, nowMs + timeouts.idleMs + this.#graceMs);
    if (this.#timer === undefined || this.#firesAtMs > checkAtMs) this.#setTimer(checkAtMs, nowMs);
  }

  #postpone(): void {
    if (this.#isPaused || this.#isYielding) return;
    const { timeouts } = this.#request.provider;
    this.#dueMs = performance.now() + timeouts[this.#limit.of] + this.#graceMs;
  }

  #setTimer(atMs: number, nowMs: number): void {
    clearTimeout(this.#timer);
    this.#firesAtMs = atMs;
    this.#timer = setTimeout(() => this.#checkTimeout(performance.now()), Math.ceil(atMs - nowMs));
  }

  #checkTimeout(nowMs: number): void {
    this.#timer = undefined;
    if (this.#isOver || this.#dueMs === Number.POSITIVE_INFINITY) return;
    if (this.#dueMs > nowMs) {
      this.#setTimer(this.#dueMs, nowMs);
      return;
    }
    const error = nowMs >= this.#silentUntilMs ? new SilenceError() : this.#limit.passed();
    const controller = this.#controller;
    this.#fail(connectionFailure(error, this.#wasSent, this.#hasHead));
    controller?.abort(error);
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#ends()) this.#end.reject(failure);
  }

  /** Marks the exchange as ended. Returns false if it had ended before. */
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

async function* chunksOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += SENT_CHUNK_BYTES) yield body.subarray(at, at + SENT_CHUNK_BYTES);
}
