import type { ServerResponse } from 'node:http';
import type { GatewayError } from '../../errors/gateway-error.ts';
import type { Operation } from '../../protocols/operations/operation.ts';

/** How long a client has for an error event before its connection is cut: a reader that is cut at once may drop it unread. */
const CUT_AFTER_MS = 100;

/** The gateway's own headers of a response, made when it takes them. */
export interface ShownHeaders {
  /** Of the response, whether the call succeeds or fails. */
  readonly headers: Readonly<Record<string, string>>;
  /** For a success whose provider says nothing of its own limits; `null`: none. */
  readonly rateHeaders: Readonly<Record<string, string>> | null;
}

/** How errors inside streams are written. */
type StreamErrors = Pick<Operation, 'streamError' | 'cutsBrokenStreams'>;

const NO_HEADERS: ShownHeaders = { headers: {}, rateHeaders: null };

/** The client's side of a call: its response, and whether the client is still connected. */
export class Client {
  readonly #response: ServerResponse;
  readonly #errors: StreamErrors;
  /** Whether the status has been sent: from then on only an event in the stream can report an error. */
  hasBegun = false;
  /** How many pieces of the response were passed on. */
  chunks = 0;
  #shown: ShownHeaders = NO_HEADERS;
  #onGone: (() => void) | null = null;
  #onDrained: (() => void) | null = null;
  #awaitsDrain = false;

  constructor(response: ServerResponse, errors: StreamErrors) {
    this.#response = response;
    this.#errors = errors;
    // An event that comes once, so it is cheaper to leave the listener there than to take it off.
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) this.#onGone?.();
    });
  }

  /** Whether the client has closed the connection before its response was complete. */
  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** The listener runs when the client leaves, at once if it has left; the last one counts. */
  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.isGone) listener();
  }

  /** The listener runs when the connection takes nothing more of the response: it was sent, or the client has left. */
  onClosed(listener: () => void): void {
    if (this.#response.closed) listener();
    else this.#response.once('close', listener);
  }

  /** Sets the gateway's own headers of the response, in place of those that were set before. */
  setHeaders(headers: ShownHeaders): void {
    this.#shown = headers;
  }

  /** The headers of the response, for one that this class does not write. */
  get headers(): Readonly<Record<string, string>> {
    return this.#shown.headers;
  }

  /** Begins the response; the headers of the call are added to `headers`. */
  begin(status: number, headers: Record<string, string | number>): void {
    this.hasBegun = true;
    const { rateHeaders } = this.#shown;
    if (rateHeaders !== null && !hasRateHeaders(headers)) Object.assign(headers, rateHeaders);
    this.#response.writeHead(status, Object.assign(headers, this.#shown.headers));
  }

  /** The listener runs whenever the client has read what was written; the last one counts. */
  onDrained(listener: () => void): void {
    this.#onDrained = listener;
  }

  /** Whether the client has yet to read what was written before. */
  get isBehind(): boolean {
    return this.#response.writableNeedDrain;
  }

  /** The bytes of the response that the client has yet to read. */
  get unreadBytes(): number {
    return this.isGone || this.#response.closed ? 0 : this.#response.writableLength;
  }

  /** Returns false where the client reads more slowly than bytes come. */
  write(bytes: Buffer): boolean {
    if (this.#response.destroyed) return true;
    this.chunks++;
    if (this.#response.write(bytes)) return true;
    // Most responses are never behind, and need no listener.
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

  /** Closes the connection in the middle of a response, so that the client sees that it is incomplete. */
  breakOff(): void {
    this.#response.destroy();
  }

  /** Ends a stream that has begun with the protocol's error event. */
  endWithError(error: GatewayError, requestId: string): void {
    this.#response.write(this.#errors.streamError(error, requestId));
    this.endBroken();
  }

  /** Ends a stream that has begun behind an error event. */
  endBroken(): void {
    if (this.#errors.cutsBrokenStreams) this.#cut();
    else this.#response.end();
  }

  /** Closes the connection behind what was written, without the last chunk. */
  #cut(): void {
    // The call is over; that the connection closes tells nobody anything.
    this.#onGone = null;
    const response = this.#response;
    if (response.destroyed) return;
    const timer = setTimeout(() => response.socket?.destroySoon(), CUT_AFTER_MS);
    response.once('close', () => clearTimeout(timer));
  }
}

/** Whether a provider says in the headers of its response what is left of its own limits. */
function hasRateHeaders(headers: Readonly<Record<string, unknown>>): boolean {
  for (const name in headers) if (name.includes('ratelimit-')) return true;
  return false;
}
