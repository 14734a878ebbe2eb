import type { UnsentMemory } from '../../lib/fair/unsent-memory.ts';
import type { Exchange } from '../../providers/upstream/exchange.ts';
import type { Client } from './client.ts';

/**
 * Bytes of one response in memory: those that the relay keeps, and those that the client has not read. Pauses reading from the provider
 * while the client reads too slowly, or while the kept bytes exceed the budget.
 */
export class HeldBytes {
  readonly #memory: UnsentMemory;
  readonly #client: Client;
  readonly #exchange: Exchange;
  #keptBytes = 0;
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

  /** Sets the number of kept bytes. Returns whether all bytes of the response fit into the budget. */
  keep(sizeBytes: number): boolean {
    if (this.#isOver) return true;
    this.#keptBytes = sizeBytes;
    this.#isClientBehind = this.#client.isBehind;
    this.#fits = this.#memory.hold(this.#isClientBehind ? sizeBytes + this.#client.unreadBytes : sizeBytes);
    return this.#fits;
  }

  /** Pauses or resumes reading from the provider. Returns true if reading continues. */
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

  /** Called when the relay keeps no more bytes. Bytes that the client has not read still count until it has read them or has left. */
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
