import { writeFileSync } from 'node:fs';
import { CliError } from './command.ts';

export const FORCE = { '--force': 'overwrite the file if it exists' };

/** Writes a file. @throws CliError if it exists and `isForced` is not true, or if it cannot be written */
export function writeForEditing(path: string, text: string, isForced: unknown): void {
  try {
    writeFileSync(path, text, { flag: isForced === true ? 'w' : 'wx' });
  } catch (error) {
    const message =
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `${path} exists already. Name another file, or overwrite it with --force.`
        : `${path} cannot be written: ${(error as Error).message}`;
    throw new CliError(message, { cause: error });
  }
}
