import type { UnsentMemory } from '../../lib/fair/unsent-memory.ts';
import type { Exchange } from '../../providers/upstream/exchange.ts';
import type { Client } from './client.ts';

/**
 * The bytes of one response in memory: those that its relay keeps, and those that its client has not read. While the client is slower than
 * the provider, or the kept bytes exceed the budget, the provider is not read.
 */
export class HeldBytes {
  readonly #memory: UnsentMemory;
  readonly #client: Client;
  readonly #exchange: Exchange;
  #keptBytes = 0;
  /** Whether the client reads more slowly than bytes arrive. */
  #isClientBehind = false;
  #fits = true;
  #isPaused = false;
  #isOver = false;

  constructor(memory: UnsentMemory, client: Client, exchange: Exchange) {
    this.#memory = memory;
    this.#client = client;
    this.#exchange = exchange;
    client.onDrained(this.#onCapacity);
  }

  readonly #onCapacity = (): void => {
    this.keep(this.#keptBytes);
    this.readOn();
  };

  /** Sets the bytes that the relay keeps. Returns whether these and the unread bytes fit into the budget. */
  keep(sizeBytes: number): boolean {
    if (this.#isOver) return true;
    this.#keptBytes = sizeBytes;
    this.#isClientBehind = this.#client.isBehind;
    this.#fits = this.#memory.hold(this.#isClientBehind ? sizeBytes + this.#client.unreadBytes : sizeBytes);
    return this.#fits;
  }

  /** Pauses or resumes reading from the provider, according to the last count. Returns whether the provider is read. */
  readOn(): boolean {
    if (this.#isOver) return true;
    const isPaused = this.#isClientBehind || !(this.#fits || this.#memory.mayGoOn(this.#onCapacity));
    if (isPaused !== this.#isPaused) {
      this.#isPaused = isPaused;
      if (isPaused) this.#exchange.pause();
      else this.#exchange.resume();
    }
    return !isPaused;
  }

  /** Called when the relay has ended and keeps no more bytes. Unread bytes count until the client has read them or has left. */
  over(): void {
    this.#isOver = true;
    this.#memory.stopWaiting();
    const { unreadBytes } = this.#client;
    if (unreadBytes === 0) {
      this.#memory.release();
      return;
    }
    this.#memory.hold(unreadBytes);
    if (this.#memory.isCounted) this.#client.onClosed(() => this.#memory.release());
  }
}
