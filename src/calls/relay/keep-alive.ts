export class KeepAlive {
  readonly #timer: NodeJS.Timeout;

  constructor(silenceMs: number, onSilence: () => void) {
    this.#timer = setTimeout(() => {
      onSilence();
      this.#timer.refresh();
    }, silenceMs);
  }

  postpone(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
