import { type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import type { Environment } from '../config/load.ts';
import { CliError } from './command.ts';
import { LogStream } from './log-stream.ts';

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const STANDARD_ERROR = 2;
/** How long the end of a gateway waits for standard error. */
const CLOSE_MS = 1_000;

/** Logs JSON lines to standard error, each at once; standard output has only what a command prints. */
export function createLogger(environment: Environment): PinoLogger {
  return loggerTo(new LogStream({ destination: STANDARD_ERROR, format: 'json', isSync: true }), environment);
}

/** The log of a gateway that serves. */
export interface ServerLog {
  readonly logger: PinoLogger;
  /** The format from now on; `undefined`: that of the terminal, where standard error is one. */
  setFormat(format: LogStream['format'] | undefined): void;
  /** Writes what waits, where standard error takes it soon; with false the process cannot end by itself (`LogStream.close`). */
  close(): Promise<boolean>;
}

export function createServerLog(environment: Environment, isTerminal: boolean): ServerLog {
  const usual = isTerminal ? 'pretty' : 'json';
  const stream = new LogStream({ destination: STANDARD_ERROR, format: usual });
  return {
    logger: loggerTo(stream, environment),
    setFormat(format) {
      stream.format = format ?? usual;
    },
    close: () => stream.close(CLOSE_MS),
  };
}

export function loggerTo(stream: LogStream, environment: Environment): PinoLogger {
  const level = environment.LOG_LEVEL || 'info';
  if (!LEVELS.includes(level)) throw new CliError(`LOG_LEVEL is "${level}"; use one of ${LEVELS.join(', ')}.`);
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, stream);
}
