/** Runs something again and again while nothing else happens. */
export interface KeepAlive {
  /** Something has happened. */
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
