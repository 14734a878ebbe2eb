import { existsSync, writeFileSync } from 'node:fs';
import { CliError } from './command.ts';

export const FORCE = { '--force': 'overwrite the file if it exists' };

/**
 * Writes all files, or none if one of them exists.
 *
 * @param texts the text by path
 * @throws CliError if a file exists and `isForced` is not true, or if one cannot be written
 */
export function writeForEditing(texts: Readonly<Record<string, string>>, isForced: unknown): void {
  const paths = Object.keys(texts);
  if (isForced !== true) {
    for (const path of paths.filter((each) => existsSync(each))) throw existing(path);
  }
  for (const path of paths) {
    try {
      writeFileSync(path, texts[path]!, { flag: isForced === true ? 'w' : 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existing(path);
      throw new CliError(`${path} cannot be written: ${(error as Error).message}`, { cause: error });
    }
  }
}

const existing = (path: string): CliError =>
  new CliError(`${path} exists already. Name another file, or overwrite it with --force.`);
