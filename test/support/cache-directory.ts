import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where something that is fetched for tests or benches is kept for later runs; it may not exist yet. */
export function cacheDirectory(name: string, environment: Readonly<NodeJS.ProcessEnv> = process.env): string {
  const { XDG_CACHE_HOME: caches } = environment;
  // An empty one counts as unset, and a relative one is to be ignored (XDG Base Directory Specification).
  const root = caches?.startsWith('/') ? caches : join(environment.HOME ?? homedir(), '.cache');
  return join(root, 'faregate', name);
}
