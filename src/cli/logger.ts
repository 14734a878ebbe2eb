import { type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import type { Environment } from '../config/load.ts';
import { escapeJson } from '../lib/plain-text.ts';
import { CliError } from './command.ts';

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** Logs JSON lines to standard error; standard output has only what a command prints. */
export function createLogger(environment: Environment): PinoLogger {
  const level = environment.LOG_LEVEL || 'info';
  if (!LEVELS.includes(level)) throw new CliError(`LOG_LEVEL is "${level}"; use one of ${LEVELS.join(', ')}.`);
  const destination = pino.destination({ dest: 2, sync: true });
  return pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime },
    // Logs are read on terminals too, and quote text of clients and providers.
    { write: (line) => void destination.write(escapeJson(line)) },
  );
}
