import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../../errors/gateway-error.ts';
import type { Operation } from '../../protocols/operations/operation.ts';

/** Wait before a broken connection is closed. Some clients drop an error event if the connection closes at once. */
const CUT_AFTER_MS = 100;

/** Headers that the gateway adds to a response. They are read when the response begins. */
export interface ShownHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** Headers with rate limits, for a success whose provider does not report its own limits. */
  readonly rateHeaders: Readonly<Record<string, string>> | null;
}

type StreamErrors = Pick<Operation, 'streamError' | 'cutsBrokenStreams'>;

const NO_HEADERS: ShownHeaders = { headers: {}, rateHeaders: null };

/** The client's side of a call. */
export class Client {
  readonly #response: ServerResponse;
  readonly #errors: StreamErrors;
  /** Once the response has begun, only an event in the stream can report an error. */
  hasBegun = false;
  /** Whether the response is that of one attempt. Until then, another attempt can be made, even if comments were sent. */
  isCommitted = false;
  /** Whether the end of the response was sent. */
  hasEnded = false;
  chunks = 0;
  #shown: ShownHeaders = NO_HEADERS;
  #onGone: (() => void) | null = null;
  #onDrained: (() => void) | null = null;
  #awaitsDrain = false;

  constructor(response: ServerResponse, errors: StreamErrors) {
    this.#response = response;
    this.#errors = errors;
    // The listener stays for the life of the response, because removing it costs more.
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) this.#onGone?.();
    });
  }

  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Sets the listener for a client that leaves, instead of an earlier one. If the client has already left, it is called at once. */
  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.isGone) listener();
  }

  /** The listener is called once the response was sent or the client has left. */
  onClosed(listener: () => void): void {
    if (this.#response.closed) listener();
    else this.#response.once('close', listener);
  }

  setHeaders(headers: ShownHeaders): void {
    this.#shown = headers;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#shown.headers;
  }

  /** Opens a stream before a provider has responded, with these headers and those of rate limits. */
  open(headers: Record<string, string | number>): void {
    this.hasBegun = true;
    this.#response.writeHead(200, { ...headers, ...this.#shown.rateHeaders });
  }

  begin(status: number, headers: Record<string, string | number>): void {
    this.hasBegun = true;
    this.isCommitted = true;
    const { rateHeaders } = this.#shown;
    if (rateHeaders !== null && !hasRateHeaders(headers)) Object.assign(headers, rateHeaders);
    this.#response.writeHead(status, Object.assign(headers, this.#shown.headers));
  }

  /** Sets the listener for a client that has read everything written so far, instead of an earlier one. */
  onDrained(listener: () => void): void {
    this.#onDrained = listener;
  }

  get isBehind(): boolean {
    return this.#response.writableNeedDrain;
  }

  get unreadBytes(): number {
    return this.isGone || this.#response.closed ? 0 : this.#response.writableLength;
  }

  /** Sends a comment, which is no part of a provider's response. */
  comment(bytes: Buffer): void {
    const { isCommitted } = this;
    this.write(bytes);
    this.isCommitted = isCommitted;
  }

  /** Returns false if the client reads more slowly than bytes arrive. */
  write(bytes: Buffer): boolean {
    this.isCommitted = true;
    if (this.#response.destroyed) return true;
    this.chunks++;
    if (this.#response.write(bytes)) return true;
    // The listener is added at the first need: most clients read fast enough.
    if (!this.#awaitsDrain) this.#response.on('drain', () => this.#onDrained?.());
    this.#awaitsDrain = true;
    return false;
  }

  end(bytes?: Buffer): void {
    this.hasEnded = true;
    if (bytes === undefined) {
      this.#response.end();
      return;
    }
    this.chunks++;
    this.#response.end(bytes);
  }

  /** Closes the connection without the last chunk, so the client notices the failure. */
  breakOff(): void {
    this.hasEnded = true;
    this.#response.destroy();
  }

  endWithError(error: GatewayError, requestId: string): void {
    this.#response.write(this.#errors.streamError(error, requestId));
    this.endBroken();
  }

  endBroken(): void {
    this.hasEnded = true;
    if (this.#errors.cutsBrokenStreams) this.#cut();
    else this.#response.end();
  }

  /** Closes the connection after a short wait, without the last chunk. */
  #cut(): void {
    // The gateway closes the connection, so this is not a client that left.
    this.#onGone = null;
    const response = this.#response;
    if (response.destroyed) return;
    const timer = setTimeout(() => response.socket?.destroySoon(), CUT_AFTER_MS);
    response.once('close', () => clearTimeout(timer));
  }
}

function hasRateHeaders(headers: Readonly<Record<string, unknown>>): boolean {
  for (const name in headers) if (name.includes('ratelimit-')) return true;
  return false;
}
