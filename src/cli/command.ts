import type { AdminClient } from '../admin/client.ts';
import type { Environment } from '../config/load.ts';
import type { Output } from './output.ts';

/** A failure that its message explains; it is printed without a stack. */
export class CliError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
  }
}

/** The flags that every command takes. */
export interface GlobalFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: boolean;
  readonly host?: string;
  readonly port?: string;
}

/** What the process gives a command to work with. */
export interface CliProcess {
  readonly environment: Environment;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

export type CommandOptions = Readonly<Record<string, unknown>>;
export type Action = (...given: unknown[]) => Promise<void>;

/** Makes actions of functions, so that a command says only what it does. An action answers an exit code other than 0. */
export interface CommandKit {
  readonly process: CliProcess;
  /** A command that works through the admin API. */
  admin(
    work: (
      admin: AdminClient,
      output: Output,
      given: readonly string[],
      options: CommandOptions,
    ) => Promise<number | undefined>,
  ): Action;
  /** Any other command. */
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
