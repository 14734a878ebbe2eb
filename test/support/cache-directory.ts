import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where downloads of tests and benches are kept for later runs. It may not exist yet. */
export function cacheDirectory(name: string, environment: Readonly<NodeJS.ProcessEnv> = process.env): string {
  const { XDG_CACHE_HOME: caches } = environment;
  // The XDG Base Directory Specification treats an empty value as unset and ignores relative paths.
  const root = caches?.startsWith('/') ? caches : join(environment.HOME ?? homedir(), '.cache');
  return join(root, 'faregate', name);
}
