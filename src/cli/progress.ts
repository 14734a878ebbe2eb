import type { CliProcess } from './command.ts';

/** A progress line on standard error, shown only on a terminal. */
export interface Progress {
  show(text: string, bytes?: number): void;
  end(): void;
}

const SHOWN_EVERY_MS = 200;
const CLEAR_LINE = '\r\x1b[K';

export function createProgress({ isErrorTerminal, writeError }: CliProcess): Progress {
  if (isErrorTerminal !== true) return { show: () => undefined, end: () => undefined };
  let bytes = 0;
  let shownAtMs = Number.NEGATIVE_INFINITY;
  return {
    show(text, more = 0) {
      bytes += more;
      const nowMs = performance.now();
      if (nowMs - shownAtMs < SHOWN_EVERY_MS) return;
      shownAtMs = nowMs;
      writeError(`${CLEAR_LINE}${text}${bytes === 0 ? '' : `, ${(bytes / 1e6).toFixed(1)} MB`}`);
    },
    end: () => writeError(CLEAR_LINE),
  };
}
