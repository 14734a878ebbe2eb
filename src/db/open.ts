import type { Logger } from '../lib/logger.ts';
import type { Database } from './database.ts';

export interface DatabaseLocation {
  /** A postgres:// address, or empty for the embedded engine. */
  readonly url: string;
  readonly dataDir: string;
}

/** Opens the database that the configuration names. The engines are loaded only when used: PGlite is 27 MB of code. */
export async function openDatabase(location: DatabaseLocation, logger: Logger): Promise<Database> {
  if (location.url !== '') {
    const { openPostgres } = await import('./postgres.ts');
    return openPostgres({ url: location.url, logger });
  }
  const { openEmbedded } = await import('./embedded.ts');
  return openEmbedded({ dataDir: location.dataDir, logger });
}
