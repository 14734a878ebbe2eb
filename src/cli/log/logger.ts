import { type Logger as PinoLogger, pino } from 'pino';
import type { Environment } from '../../config/load.ts';
import { CliError } from '../command.ts';
import { LogStream } from './log-stream.ts';

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const STANDARD_ERROR = 2;
/** How long the end of a gateway waits for standard error. */
const CLOSE_MS = 1_000;

/** Logs JSON lines to standard error, each at once; standard output has only what a command prints. */
export function createLogger(environment: Environment): PinoLogger {
  return loggerTo(new LogStream({ destination: STANDARD_ERROR, format: 'json', isSync: true }), environment);
}

/** As `createLogger`, for a command that prints a result: errors alone, unless the environment asks for more. */
export function createQuietLogger(environment: Environment): PinoLogger {
  return createLogger({ ...environment, LOG_LEVEL: environment.LOG_LEVEL ?? 'error' });
}

/** The log of a gateway that serves. `worker`: the number of the worker that the process is, which every line says; absent: it is none. */
export function createServerLog(environment: Environment, isTerminal: boolean, worker?: number) {
  const usual = isTerminal ? 'pretty' : 'json';
  const stream = new LogStream({ destination: STANDARD_ERROR, format: usual, isShared: worker !== undefined });
  return {
    logger: loggerTo(stream, environment, worker),
    /** The format from now on; `undefined`: that of the terminal, where standard error is one. */
    setFormat(format: LogStream['format'] | undefined): void {
      stream.format = format ?? usual;
    },
    /** Writes what waits, where standard error takes it soon; with false the process cannot end by itself (`LogStream.close`). */
    close: () => stream.close(CLOSE_MS),
  };
}

export function loggerTo(stream: LogStream, environment: Environment, worker?: number): PinoLogger {
  const level = environment.LOG_LEVEL || 'info';
  if (!LEVELS.includes(level)) throw new CliError(`LOG_LEVEL is "${level}"; use one of ${LEVELS.join(', ')}.`);
  const timestamp = createTimestamp(Date.now);
  const base = worker === undefined ? null : { worker };
  const ownFields = worker === undefined ? '' : `,"worker":${worker}`;
  return withNativeJson(pino({ level, base, timestamp }, stream), stream, () => `${timestamp()}${ownFields}`);
}

/** The instant of a line as pino writes it, in ISO 8601. All but its milliseconds is made once a second. */
export function createTimestamp(nowMs: () => number): () => string {
  let secondMs = Number.NaN;
  let upToSecond = '';
  return () => {
    const now = nowMs();
    const milliseconds = now % 1_000;
    if (now - milliseconds !== secondMs) {
      secondMs = now - milliseconds;
      upToSecond = new Date(secondMs).toISOString().slice(0, -4);
    }
    return `,"time":"${upToSecond}${String(milliseconds).padStart(3, '0')}Z"`;
  };
}

type Log = (this: PinoLogger, details: unknown, message?: unknown, ...values: unknown[]) => void;

/**
 * Lines as pino makes them, in a third of its time: the runtime makes the JSON of all details at once, where pino adds them one by
 * one. Pino makes those that this cannot: of errors, big integers, circles, and children of the logger.
 */
function withNativeJson(logger: PinoLogger, stream: LogStream, timestamp: () => string): PinoLogger {
  for (const name of ['debug', 'info', 'warn', 'error'] as const) {
    if (!logger.isLevelEnabled(name)) continue;
    const level = pino.levels.values[name]!;
    const byPino = logger[name] as Log;
    const log: Log = function (details, message, ...values) {
      const isUsual = this === logger && isDetails(details) && typeof message === 'string' && values.length === 0;
      const json = isUsual ? jsonOf(details) : null;
      if (json === null) {
        byPino.call(this, details, message, ...values);
        return;
      }
      const fields = json.slice(1, -1);
      stream.lastLevel = level;
      stream.write(`{"level":${level}${timestamp()}${fields && ','}${fields},"msg":${JSON.stringify(message)}}\n`);
    };
    logger[name] = log;
  }
  return logger;
}

function isDetails(details: unknown): details is object {
  return typeof details === 'object' && details !== null && !(details instanceof Error) && !('err' in details);
}

/** `null` if it has none, and where that is no object: of a list, and of what makes a text of itself. */
function jsonOf(details: object): string | null {
  try {
    const json = JSON.stringify(details) as string | undefined;
    return json?.startsWith('{') ? json : null;
  } catch {
    return null;
  }
}
