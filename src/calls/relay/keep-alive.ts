/** Runs a function after each period of silence, until it is stopped. */
export interface KeepAlive {
  /** Starts the period of silence again. */
  postpone(): void;
  stop(): void;
}

export function startKeepAlive(silenceMs: number, onSilence: () => void): KeepAlive {
  const timer = setTimeout(() => {
    onSilence();
    timer.refresh();
  }, silenceMs);
  return {
    postpone: () => void timer.refresh(),
    stop: () => clearTimeout(timer),
  };
}
