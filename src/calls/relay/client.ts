import type { ServerResponse } from 'node:http';
import type { RenderStreamError } from '../../errors/envelopes.ts';
import type { GatewayError } from '../../errors/gateway-error.ts';

/** The client's side of a call: the response that bytes leave on, and whether anybody still listens. */
export class Client {
  readonly #takeOver: () => void;
  readonly #response: ServerResponse;
  readonly #streamError: RenderStreamError;
  #hasBegun = false;
  #headers: Readonly<Record<string, string>> = {};
  #onGone: (() => void) | null = null;
  #onDrained: (() => void) | null = null;

  /** `takeOver` tells the framework that the response is written here from now on. */
  constructor(response: ServerResponse, streamError: RenderStreamError, takeOver: () => void) {
    this.#response = response;
    this.#takeOver = takeOver;
    this.#streamError = streamError;
    this.#response.on('drain', () => this.#onDrained?.());
    this.#response.once('close', () => {
      if (this.#response.writableFinished) return;
      // Nobody is left to answer; the framework must not try.
      this.#takeOver();
      this.#onGone?.();
    });
  }

  /** Whether the client has closed the connection before its answer was complete. */
  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Whether the status has been sent: from then on an error can only be said inside the stream. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  onGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.isGone) listener();
  }

  /** Headers that the answer will have, whatever becomes of the call; the last ones told count. */
  setHeaders(headers: Readonly<Record<string, string>>): void {
    this.#headers = headers;
  }

  /** For an answer that is not begun here. */
  get headers(): Readonly<Record<string, string>> {
    return this.#headers;
  }

  begin(status: number, headers: Readonly<Record<string, string | number>>): void {
    this.#hasBegun = true;
    this.#takeOver();
    this.#response.writeHead(status, { ...headers, ...this.#headers });
  }

  /** The listener runs whenever the client has caught up with what was written; the last one counts. */
  onDrained(listener: () => void): void {
    this.#onDrained = listener;
  }

  /** Whether the client still has to take what was written before. */
  get isBehind(): boolean {
    return this.#response.writableNeedDrain;
  }

  /** Answers false where the client reads more slowly than bytes come. */
  write(bytes: Buffer): boolean {
    return this.#response.destroyed || this.#response.write(bytes);
  }

  end(bytes?: Buffer): void {
    if (bytes === undefined) this.#response.end();
    else this.#response.end(bytes);
  }

  /** Closes the connection in the middle of an answer: the client must not take what it has for the whole. */
  breakOff(): void {
    this.#response.destroy();
  }

  /** Ends a stream that has begun with the protocol's error event. */
  endWithError(error: GatewayError, requestId: string): void {
    this.#response.end(this.#streamError(error, requestId));
  }
}
