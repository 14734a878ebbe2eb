import type { CatalogResponse, RevisionResponse } from '../api/catalog/wire.ts';
import type { CatalogText } from '../config/load.ts';
import { findInitialCatalog } from '../config/revisions/initial-catalog.ts';
import type { Config } from '../config/schema.ts';
import { NoDatabaseError } from '../db/data-dir.ts';
import { CliError, type CliProcess, type GlobalFlags } from './command.ts';
import { findConfigSource } from './environment.ts';
import { withAdmin } from './with-admin.ts';

/**
 * The catalog of the database with which a gateway of this configuration works: the revision in force, or the initial catalog before the first
 * start. `null`: the catalog is in the file, or there is none.
 */
export async function catalogInUse(
  flags: GlobalFlags,
  process: CliProcess,
  config: Config,
): Promise<CatalogText | null> {
  if (config.catalog === 'file') return null;
  const inForce = await withAdmin(flags, process, 'reads', async (admin) => {
    const { inForce: revision } = await admin.request<CatalogResponse>('GET', '/catalog');
    if (revision === null) return null;
    const { number, text } = await admin.request<RevisionResponse>('GET', `/catalog/revisions/${revision.number}`);
    return { name: `revision ${number}`, text };
  }).catch((error: unknown) => {
    if (isWithoutDatabase(error)) return null;
    throw error;
  });
  return inForce ?? findInitialCatalog(config, findConfigSource(flags, process.environment).file);
}

/** The database is created at the first start. */
function isWithoutDatabase(error: unknown): boolean {
  return error instanceof NoDatabaseError || (error instanceof CliError && error.cause instanceof NoDatabaseError);
}
