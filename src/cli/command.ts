import type { Readable, Writable } from 'node:stream';
import type { Environment } from '../config/load.ts';
import { IDEMPOTENCY_KEY_PATTERN } from '../http/idempotency-key.ts';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { escapeText } from '../lib/plain-text.ts';

/** An error that is printed without a stack. */
export class CliError extends ForeseenError {}

/** Thrown if the command line is used wrongly. The exit code is then 2. */
export class UsageError extends CliError {}

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
