import { inspect } from 'node:util';
import type { Logger } from '../../src/lib/logger.ts';

export interface LoggedLine {
  readonly level: keyof Logger;
  readonly details: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger that keeps its lines. */
export interface RecordedLogger {
  readonly logger: Logger;
  readonly lines: LoggedLine[];
  /** All lines with every value inside them, including those that a serialiser would omit. */
  text(): string;
}

export function recordLogs(): RecordedLogger {
  const lines: LoggedLine[] = [];
  const at =
    (level: keyof Logger) =>
    (details: object, message: string): void =>
      void lines.push({ level, details: { ...details }, message });
  return {
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    lines,
    text: () => inspect(lines, { depth: null, showHidden: true, maxArrayLength: null, maxStringLength: null }),
  };
}
