import { type ConfigSource, DEFAULT_FILE } from '../environment.ts';
import { shellWord } from '../shell-word.ts';

/**
 * How the first operator signs in, for a gateway that has none. The command names what leads to the gateway's database, which may stand
 * in an environment that other terminals do not have.
 */
export function renderSignInHint(url: string, { file, overrides: { dataDir } }: ConfigSource): string {
  const command = [
    'faregate',
    ...(file === DEFAULT_FILE ? [] : ['--config', shellWord(file)]),
    ...(dataDir === undefined ? [] : ['--data-dir', shellWord(dataDir)]),
    'user create <name> --email <address> --operator',
  ].join(' ');
  return `nobody can sign in to ${url}/console as operator yet; this makes the first one and prints a link:\n  ${command}\n`;
}
