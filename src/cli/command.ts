import type { Readable, Writable } from 'node:stream';
import type { Environment } from '../config/load.ts';
import { IDEMPOTENCY_KEY_PATTERN } from '../http/idempotency-key.ts';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { escapeText } from '../lib/plain-text.ts';

/** An error that is printed without a stack. */
export class CliError extends ForeseenError {}

/** Thrown if the command line is used wrongly. */
export class UsageError extends CliError {}

/** Thrown if there is no object of the given name or id. */
export class NotFoundError extends CliError {}

/** Thrown if there is neither a gateway nor a database to work with. */
export class UnreachableError extends CliError {}

export interface GlobalFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
  /** Address of a gateway, which the command uses instead of the database. */
  readonly gateway?: string;
  readonly host?: string;
  readonly port?: string;
  readonly workers?: string;
}

export interface CliProcess {
  readonly environment: Environment;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Standard input; absent if a command runs inside another program. */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly isErrorTerminal?: boolean;
  /** Width of the terminal to which standard output is written; absent: it is not a terminal. */
  readonly columns?: number | undefined;
  /** Source of the signals that stop a gateway; absent: the process. */
  readonly signals?: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
}

export const sayTo =
  ({ writeError }: Pick<CliProcess, 'writeError'>) =>
  (line: string): void =>
    writeError(`${escapeText(line)}\n`);

/** The option for commands that can be repeated safely. */
export const IDEMPOTENCY_KEY = {
  '--idempotency-key <key>':
    'a text of your choice, different for each change: repeating a command with the same text changes nothing',
};

/** Returns the idempotency key of a command. @throws UsageError if it cannot be the value of a header */
export function idempotencyKeyOf({ idempotencyKey }: { readonly idempotencyKey?: unknown }): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  const key = String(idempotencyKey);
  if (!IDEMPOTENCY_KEY_PATTERN.test(key)) {
    throw new UsageError('--idempotency-key: Expected 1 to 255 visible ASCII characters.');
  }
  return key;
}
