import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { connectionFailure } from './failure.ts';
import type { Provider } from './provider.ts';

/** A body that is too large for memory: read anew for each request that sends it. */
export interface StoredBody {
  readonly sizeBytes: number;
  read(): AsyncIterable<Buffer>;
}

export type UpstreamBody = Buffer | StoredBody;

/** One request to a provider. */
export interface UpstreamRequest {
  readonly provider: Provider;
  /** Appended to the provider's base path, such as `/chat/completions`. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: UpstreamBody;
}

export interface UpstreamHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** A request under way. */
export interface UpstreamExchange {
  /**
   * Resolves with `ended` when the answer is complete, or with `aborted` after `abort`.
   *
   * @throws UpstreamFailure where the connection fails or a time limit passes.
   */
  readonly done: Promise<'ended' | 'aborted'>;
  /** Stops and continues the flow of the answer; a stopped provider is held back by its own connection. */
  pause(): void;
  resume(): void;
  /** Gives the answer up and closes its connection. */
  abort(): void;
}

/** Takes the body of an answer as it comes. The bytes belong to the receiver. */
export type ReceiveChunk = (chunk: Buffer) => void;

/**
 * Sends a request. `onHead` runs when status and headers are in, before the first byte of the body, and answers who
 * takes the body.
 */
export function startExchange(
  request: UpstreamRequest,
  onHead: (head: UpstreamHead) => ReceiveChunk,
): UpstreamExchange {
  const exchange = new Exchange(onHead);
  const { provider, path, headers, body } = request;
  provider.pool.dispatch(
    {
      method: 'POST',
      path: provider.basePath + path,
      headers: Buffer.isBuffer(body) ? headers : { ...headers, 'content-length': String(body.sizeBytes) },
      body: Buffer.isBuffer(body) ? body : Readable.from(body.read(), { objectMode: false }),
      headersTimeout: provider.firstByteTimeoutMs,
      bodyTimeout: provider.idleTimeoutMs,
    },
    exchange,
  );
  return exchange;
}

class Exchange implements Dispatcher.DispatchHandler, UpstreamExchange {
  readonly done: Promise<'ended' | 'aborted'>;
  readonly #onHead: (head: UpstreamHead) => ReceiveChunk;
  #resolve!: (result: 'ended' | 'aborted') => void;
  #reject!: (failure: Error) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #receive: ReceiveChunk | null = null;
  #wasSent = false;
  #isAborted = false;

  constructor(onHead: (head: UpstreamHead) => ReceiveChunk) {
    this.#onHead = onHead;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort(new Error('given up'));
  }

  /** A connection is there and the request is about to be written on it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#wasSent = true;
    if (this.#isAborted) controller.abort(new Error('given up'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#receive = this.#onHead({ status, headers });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#receive?.(chunk);
  }

  onResponseEnd(): void {
    this.#resolve('ended');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isAborted) this.#resolve('aborted');
    else this.#reject(connectionFailure(error, this.#wasSent));
  }
}
