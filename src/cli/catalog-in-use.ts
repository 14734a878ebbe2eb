import type { CatalogResponse, RevisionResponse } from '../api/catalog/wire.ts';
import type { CatalogText } from '../config/load.ts';
import { findInitialCatalog } from '../config/revisions/initial-catalog.ts';
import type { Config } from '../config/schema.ts';
import { NoDatabaseError } from '../db/data-dir.ts';
import { CliError, type CliProcess, type GlobalFlags } from './command.ts';
import { findConfigSource } from './environment.ts';
import { withAdmin } from './with-admin.ts';

/**
 * Returns the catalog of the database that a gateway with this configuration uses: the revision in force or, before the first start, the
 * initial catalog. `null`: the catalog is in the file, or there is none.
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

/** Whether there is no database yet. The first start of a gateway creates it. */
function isWithoutDatabase(error: unknown): boolean {
  return error instanceof NoDatabaseError || (error instanceof CliError && error.cause instanceof NoDatabaseError);
}
