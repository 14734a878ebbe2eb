import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../../errors/gateway-error.ts';
import type { Operation } from '../../protocols/operations/operation.ts';

/** Some readers drop an error event if the connection closes at once. */
const CUT_AFTER_MS = 100;

/** The gateway's own headers, read when the response begins. */
export interface ShownHeaders {
  /** For successes and failures. */
  readonly headers: Readonly<Record<string, string>>;
  /** For a success whose provider does not report its own limits. */
  readonly rateHeaders: Readonly<Record<string, string>> | null;
}

type StreamErrors = Pick<Operation, 'streamError' | 'cutsBrokenStreams'>;

const NO_HEADERS: ShownHeaders = { headers: {}, rateHeaders: null };

/** The client's side of a call: its response, and whether the client is still connected. */
export class Client {
  readonly #response: ServerResponse;
  readonly #errors: StreamErrors;
  /** Once the status is sent, only an event in the stream can report an error. */
  hasBegun = false;
  /** Forwarded chunks of the response. */
  chunks = 0;
  #shown: ShownHeaders = NO_HEADERS;
  #onGone: (() => void) | null = null;
  #onDrained: (() => void) | null = null;
  #awaitsDrain = false;

  constructor(response: ServerResponse, errors: StreamErrors) {
    this.#response = response;
    this.#errors = errors;
    // Keeping the listener is cheaper than removing it, and `close` occurs once.
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) this.#onGone?.();
    });
  }

  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Also runs at once if the client has left. Replaces an earlier listener. */
  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.isGone) listener();
  }

  /** Runs when the response was sent or the client has left. */
  onClosed(listener: () => void): void {
    if (this.#response.closed) listener();
    else this.#response.once('close', listener);
  }

  setHeaders(headers: ShownHeaders): void {
    this.#shown = headers;
  }

  /** For a response that another class writes. */
  get headers(): Readonly<Record<string, string>> {
    return this.#shown.headers;
  }

  /** Adds the headers of the call to `headers`. */
  begin(status: number, headers: Record<string, string | number>): void {
    this.hasBegun = true;
    const { rateHeaders } = this.#shown;
    if (rateHeaders !== null && !hasRateHeaders(headers)) Object.assign(headers, rateHeaders);
    this.#response.writeHead(status, Object.assign(headers, this.#shown.headers));
  }

  /** Runs whenever the client has read everything that was written. Replaces an earlier listener. */
  onDrained(listener: () => void): void {
    this.#onDrained = listener;
  }

  /** Whether written bytes are still unread. */
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

  /** Truncates the response, so the client notices the failure. */
  breakOff(): void {
    this.#response.destroy();
  }

  endWithError(error: GatewayError, requestId: string): void {
    this.#response.write(this.#errors.streamError(error, requestId));
    this.endBroken();
  }

  endBroken(): void {
    if (this.#errors.cutsBrokenStreams) this.#cut();
    else this.#response.end();
  }

  /** Closes the connection after the written bytes, without the last chunk. */
  #cut(): void {
    // The call is over, so this close is not a client that leaves.
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
