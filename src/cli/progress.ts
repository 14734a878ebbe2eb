import type { CliProcess } from './command.ts';

/** A line on standard error that shows progress, only on a terminal. */
export interface Progress {
  show(text: string, bytes?: number): void;
}

const SHOWN_EVERY_MS = 200;
const CLEAR_LINE = '\r\x1b[K';

/** Shows the progress of `work`, and removes the line at the end. */
export async function withProgress<Result>(
  { isErrorTerminal, writeError }: CliProcess,
  work: (progress: Progress) => Promise<Result>,
): Promise<Result> {
  if (isErrorTerminal !== true) return work({ show: () => undefined });
  let bytes = 0;
  let shownAtMs = Number.NEGATIVE_INFINITY;
  const show = (text: string, more = 0): void => {
    bytes += more;
    const nowMs = performance.now();
    if (nowMs - shownAtMs < SHOWN_EVERY_MS) return;
    shownAtMs = nowMs;
    writeError(`${CLEAR_LINE}${text}${bytes === 0 ? '' : `, ${(bytes / 1e6).toFixed(1)} MB`}`);
  };
  return work({ show }).finally(() => writeError(CLEAR_LINE));
}
