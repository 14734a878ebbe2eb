import type { Readable, Writable } from 'node:stream';
import type { AdminClient } from '../api/management/admin-client.ts';
import type { Environment } from '../config/load.ts';
import { IDEMPOTENCY_KEY_PATTERN } from '../http/idempotency-key.ts';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { escapeText } from '../lib/plain-text.ts';
import type { Output } from './output.ts';

/** A failure whose message explains it; it is printed without a stack. */
export class CliError extends ForeseenError {}

/** The command was used wrongly: the exit code is 2 (`program.ts`). */
export class UsageError extends CliError {}

/** The flags that every command takes. */
export interface GlobalFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
  /** The address of a gateway that is asked instead of the database. */
  readonly gateway?: string;
  readonly host?: string;
  readonly port?: string;
  readonly workers?: string;
}

/** The environment and the outputs of the process that a command runs in. */
export interface CliProcess {
  readonly environment: Environment;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** For what is not text of a command; absent if a command runs inside of another program. */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly isErrorTerminal?: boolean;
  /** What tells a gateway of signals; absent: the process itself. */
  readonly signals?: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
}

/** Writes lines beside what a command prints: on standard error. */
export const sayTo =
  ({ writeError }: Pick<CliProcess, 'writeError'>) =>
  (line: string): void =>
    writeError(`${escapeText(line)}\n`);

export type CommandOptions = Readonly<Record<string, unknown>>;
export type Action = (...given: unknown[]) => Promise<void>;

/** The work of a command with the admin API; it may return an exit code other than 0. */
export type AdminWork = (
  admin: AdminClient,
  output: Output,
  given: readonly string[],
  options: CommandOptions,
) => Promise<number | undefined>;

/** Turns functions into actions of commands. An action may return an exit code other than 0. */
export interface CommandKit {
  readonly process: CliProcess;
  /** A command that only reads, through the admin API. It prints on standard error which database it reads. */
  reading(work: AdminWork): Action;
  /** A command that changes something through the admin API. */
  changing(work: AdminWork): Action;
  /** A command that does not use the admin API. */
  plain(
    work: (
      flags: GlobalFlags,
      output: Output,
      environment: Environment,
      given: readonly string[],
      options: CommandOptions,
    ) => Promise<number | undefined>,
  ): Action;
}

/** The option of commands that must not be carried out twice. */
export const IDEMPOTENCY_KEY = [
  '--idempotency-key <key>',
  'a text of your own, new for each change: a repeat with the same one changes nothing',
] as const;

/** @throws UsageError if it is no text that a header can have. */
export function idempotencyKeyOf({ idempotencyKey }: CommandOptions): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  const key = String(idempotencyKey);
  if (!IDEMPOTENCY_KEY_PATTERN.test(key)) {
    throw new UsageError('--idempotency-key: Expected 1 to 255 visible ASCII characters.');
  }
  return key;
}
