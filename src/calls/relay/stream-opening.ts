import { isOpening } from '../../providers/upstream/stream-refusal.ts';

const KEPT_MS = 1_000;

/** Opening events carry no content. They are kept until the next event, which may be a refusal that another route can take. */
export class StreamOpening {
  readonly #send: (bytes: Buffer) => void;
  #kept: Buffer[] = [];
  keptBytes = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (bytes: Buffer) => void) {
    this.#send = send;
  }

  /** Returns false for other events, or if the opening has been sent. */
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
