import { writeFileSync } from 'node:fs';
import { CliError } from './command.ts';

/** The option of commands that write a file for people to edit. */
export const FORCE = ['--force', 'write over the file if it is there'] as const;

/** @throws CliError if the file is there and `isForced` is not true, or if it cannot be written. */
export function writeForEditing(path: string, text: string, isForced: unknown): void {
  try {
    writeFileSync(path, text, { flag: isForced === true ? 'w' : 'wx' });
  } catch (error) {
    const message =
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `${path} exists already. Name another file, or write over it with --force.`
        : `${path} cannot be written: ${(error as Error).message}`;
    throw new CliError(message, { cause: error });
  }
}
