import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../../errors/gateway-error.ts';
import type { Operation } from '../../protocols/operations/operation.ts';

/** Delay between an error event and the closing of its connection: some readers drop an event if the connection closes at once. */
const CUT_AFTER_MS = 100;

/** The gateway's own headers of a response, read when the response begins. */
export interface ShownHeaders {
  /** Headers of successes and failures. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of a success whose provider does not report its own limits; `null`: none. */
  readonly rateHeaders: Readonly<Record<string, string>> | null;
}

type StreamErrors = Pick<Operation, 'streamError' | 'cutsBrokenStreams'>;

const NO_HEADERS: ShownHeaders = { headers: {}, rateHeaders: null };

/** The client's side of a call: its response, and whether the client is still connected. */
export class Client {
  readonly #response: ServerResponse;
  readonly #errors: StreamErrors;
  /** Whether the status has been sent: from then on only an event in the stream can report an error. */
  hasBegun = false;
  /** Number of chunks of the response that were forwarded. */
  chunks = 0;
  #shown: ShownHeaders = NO_HEADERS;
  #onGone: (() => void) | null = null;
  #onDrained: (() => void) | null = null;
  #awaitsDrain = false;

  constructor(response: ServerResponse, errors: StreamErrors) {
    this.#response = response;
    this.#errors = errors;
    // The `close` event occurs once, so keeping the listener is cheaper than removing it.
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) this.#onGone?.();
    });
  }

  /** Whether the client has closed the connection before its response was complete. */
  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Runs the listener when the client leaves, or at once if it has left. It replaces an earlier listener. */
  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.isGone) listener();
  }

  /** Runs the listener when the connection accepts no more of the response: it was sent, or the client has left. */
  onClosed(listener: () => void): void {
    if (this.#response.closed) listener();
    else this.#response.once('close', listener);
  }

  setHeaders(headers: ShownHeaders): void {
    this.#shown = headers;
  }

  /** The gateway's headers for a response that another class writes. */
  get headers(): Readonly<Record<string, string>> {
    return this.#shown.headers;
  }

  /** Begins the response; adds the headers of the call to `headers`. */
  begin(status: number, headers: Record<string, string | number>): void {
    this.hasBegun = true;
    const { rateHeaders } = this.#shown;
    if (rateHeaders !== null && !hasRateHeaders(headers)) Object.assign(headers, rateHeaders);
    this.#response.writeHead(status, Object.assign(headers, this.#shown.headers));
  }

  /** Runs the listener whenever the client has read what was written. It replaces an earlier listener. */
  onDrained(listener: () => void): void {
    this.#onDrained = listener;
  }

  /** Whether the client has not yet read what was written. */
  get isBehind(): boolean {
    return this.#response.writableNeedDrain;
  }

  get unreadBytes(): number {
    return this.isGone || this.#response.closed ? 0 : this.#response.writableLength;
  }

  /** Returns false if the client reads more slowly than bytes arrive. */
  write(bytes: Buffer): boolean {
    if (this.#response.destroyed) return true;
    this.chunks++;
    if (this.#response.write(bytes)) return true;
    // Most clients keep up, and need no listener.
    if (!this.#awaitsDrain) this.#response.on('drain', () => this.#onDrained?.());
    this.#awaitsDrain = true;
    return false;
  }

  end(bytes?: Buffer): void {
    if (bytes === undefined) {
      this.#response.end();
      return;
    }
    this.chunks++;
    this.#response.end(bytes);
  }

  /** Closes the connection before the response is complete, so that the client notices that it is truncated. */
  breakOff(): void {
    this.#response.destroy();
  }

  endWithError(error: GatewayError, requestId: string): void {
    this.#response.write(this.#errors.streamError(error, requestId));
    this.endBroken();
  }

  /** Ends a stream after an error event. */
  endBroken(): void {
    if (this.#errors.cutsBrokenStreams) this.#cut();
    else this.#response.end();
  }

  /** Closes the connection after the written bytes, without the last chunk. */
  #cut(): void {
    // The call is over, so the closing connection is not reported.
    this.#onGone = null;
    const response = this.#response;
    if (response.destroyed) return;
    const timer = setTimeout(() => response.socket?.destroySoon(), CUT_AFTER_MS);
    response.once('close', () => clearTimeout(timer));
  }
}

/** Whether the provider's headers report its own limits. */
function hasRateHeaders(headers: Readonly<Record<string, unknown>>): boolean {
  for (const name in headers) if (name.includes('ratelimit-')) return true;
  return false;
}
