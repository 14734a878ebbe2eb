import { type ConfigSource, DEFAULT_FILE } from '../environment.ts';
import { shellWord } from '../shell-word.ts';

/**
 * Explains how the first operator signs in, for a gateway without operators. The printed command has the options that select the gateway's
 * database, because another terminal may have another environment.
 */
export function renderSignInHint(url: string, { file, overrides: { dataDir } }: ConfigSource): string {
  const command = [
    'faregate',
    ...(file === DEFAULT_FILE ? [] : ['--config', shellWord(file)]),
    ...(dataDir === undefined ? [] : ['--data-dir', shellWord(dataDir)]),
    'user create <name> --email <address> --operator',
  ].join(' ');
  return `no operator can sign in to ${url}/console yet; this command creates the first one and prints a link:\n  ${command}\n`;
}
