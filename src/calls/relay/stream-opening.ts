import { isOpening } from '../../providers/upstream/stream-refusal.ts';

const KEPT_MS = 1_000;

/** Keeps the first events of a stream, without content, until the next one. If that is a refusal, another route can still be tried. */
export class StreamOpening {
  readonly #send: (bytes: Buffer) => void;
  #kept: Buffer[] = [];
  keptBytes = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (bytes: Buffer) => void) {
    this.#send = send;
  }

  /** Keeps an opening event. Returns false if it must be forwarded now: it is not an opening event, or the opening was already sent. */
  keep(bytes: Buffer): boolean {
    if (this.#isOver || !isOpening(bytes)) return false;
    this.#kept.push(bytes);
    this.keptBytes += bytes.length;
    this.#timer ??= setTimeout(() => this.sendKept(), KEPT_MS);
    return true;
  }

  sendKept(): void {
    if (this.#isOver) return;
    this.stop();
    this.#isOver = true;
    const kept = this.#kept;
    this.#kept = [];
    this.keptBytes = 0;
    for (const bytes of kept) this.#send(bytes);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
