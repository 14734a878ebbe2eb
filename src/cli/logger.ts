import { type Logger as PinoLogger, pino, symbols } from 'pino';
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
  return withNativeJson(pino({ level, base: null, timestamp: createTimestamp(Date.now) }, stream));
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

type AsJson = (this: PinoLogger, details: object, message: unknown, level: number, time: string) => string;

/**
 * Lines as pino makes them, in less than half of its time: the runtime makes the JSON of all details at once, where pino adds
 * them one by one. Pino makes those that this cannot: of errors, big integers, circles, and children of the logger.
 */
function withNativeJson(logger: PinoLogger): PinoLogger {
  const asJson: AsJson = Reflect.get(logger, symbols.asJsonSym);
  const asJsonNatively: AsJson = function (details, message, level, time) {
    const isUsual = this === logger && typeof message === 'string' && !('err' in details);
    if (!isUsual) return asJson.call(this, details, message, level, time);
    try {
      const json = JSON.stringify(details);
      // A list, or what makes a text of itself, would be no fields of an object.
      if (!json.startsWith('{')) return asJson.call(this, details, message, level, time);
      const fields = json.slice(1, -1);
      return `{"level":${level}${time}${fields && ','}${fields},"msg":${JSON.stringify(message)}}\n`;
    } catch {
      return asJson.call(this, details, message, level, time);
    }
  };
  return Object.defineProperty(logger, symbols.asJsonSym, { value: asJsonNatively });
}
