import { isOpening } from '../../providers/upstream/stream-refusal.ts';

/** How long the events that open a stream are kept. */
const KEPT_MS = 1_000;

/**
 * The events that open a stream and deliver nothing. They are kept until another event follows, because that may be a refusal after which
 * another route is tried.
 */
export class StreamOpening {
  readonly #send: (bytes: Buffer) => void;
  #kept: Buffer[] = [];
  keptBytes = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (bytes: Buffer) => void) {
    this.#send = send;
  }

  /** Keeps events that open the stream; `false`: these do not, or it is open already. */
  keep(bytes: Buffer): boolean {
    if (this.#isOver || !isOpening(bytes)) return false;
    this.#kept.push(bytes);
    this.keptBytes += bytes.length;
    this.#timer ??= setTimeout(() => this.sendKept(), KEPT_MS);
    return true;
  }

  /** Sends what was kept; from here on a refusal is an error inside the stream. */
  sendKept(): void {
    if (this.#isOver) return;
    this.stop();
    this.#isOver = true;
    const kept = this.#kept;
    this.#kept = [];
    this.keptBytes = 0;
    for (const bytes of kept) this.#send(bytes);
  }

  /** Sends nothing by itself any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}
