/** Readers of event streams ignore comments (WHATWG HTML, "Server-sent events"). */
export const KEEP_ALIVE_COMMENT = Buffer.from(': keep-alive\n\n');

const ALWAYS = (): boolean => true;

export class KeepAlive {
  readonly #timer: NodeJS.Timeout;
  /** Whether a comment can be sent now. An event that was sent in part must end first. */
  isBetweenEvents: () => boolean = ALWAYS;

  constructor(silenceMs: number, onSilence: () => void) {
    this.#timer = setTimeout(() => {
      if (this.isBetweenEvents()) onSilence();
      this.#timer.refresh();
    }, silenceMs);
  }

  postpone(): void {
    this.#timer.refresh();
  }

  /** Called when an attempt has failed before it sent anything. */
  attemptFailed(): void {
    this.isBetweenEvents = ALWAYS;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
