import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  CatalogChangeResponse,
  CatalogResponse,
  ChangedCatalogResponse,
  CheckedCatalogResponse,
} from '../../api/catalog/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import { editCatalog, joinConfig, splitConfig } from '../../config/catalog-text.ts';
import { readConfigFile } from '../../config/load.ts';
import { escapeLines } from '../../lib/plain-text.ts';
import { CliError, type CliProcess, type GlobalFlags } from '../command.ts';
import type { Given } from '../command-rows.ts';
import { findConfigSource } from '../environment.ts';
import type { Output } from '../output.ts';
import { describeChanges, readCatalog } from './catalog-responses.ts';

/** Moves the catalog between the configuration file and the database. */
export async function move(
  flags: GlobalFlags,
  output: Output,
  { place, ...given }: Given,
  process: CliProcess,
): Promise<number> {
  const { file, isDemo } = findConfigSource(flags, process.environment);
  if (isDemo) throw new CliError('Name your configuration with --config: the demo keeps its own.');
  const { text } = readConfigFile(file);
  const { withAdmin } = await import('../with-admin.ts');
  const moved = await withAdmin(flags, process, 'changes', async (admin) => {
    const { mode, base } = await readCatalog(admin);
    if (place === 'database') {
      if (mode === 'database') throw new CliError(`The catalog of ${file} is in the database already.`);
      const { node, catalog } = splitConfig(text);
      const revision = await moveToDatabase(admin, base, catalog, given);
      return { revision, text: editCatalog(node, [{ path: ['catalog'], value: 'database' }]) };
    }
    if (mode === 'file') throw new CliError(`The catalog of ${file} is in the file already.`);
    const last = await readSettled(admin);
    return { revision: last.base, text: joinConfig(text, last.text) };
  });
  writeFileSync(file, `${moved.text.trimEnd()}\n`);
  output.print({ file, catalog: place, revision: moved.revision }, () =>
    place === 'database'
      ? `The catalog of ${file} is revision ${moved.revision} of the database. Restart the gateway. On other nodes, run the same command before the restart.`
      : `${file} contains the catalog${moved.revision === null ? '' : ` of revision ${moved.revision}`}. Restart the gateway.`,
  );
  return 0;
}

/**
 * Pushes a catalog, unless the database has the same one.
 *
 * @param base the last revision of the database; `null`: there is none
 * @returns the number of the last revision, which is in force
 * @throws CliError if the database has another catalog, and the command does not say which one to use
 */
async function moveToDatabase(
  admin: AdminClient,
  base: number | null,
  text: string,
  { adopt, replace, reason }: Given,
): Promise<number> {
  if (base !== null && replace !== true) {
    const { changes } = await admin.request<CheckedCatalogResponse>('POST', '/catalog/check', { base, text });
    if (adopt === true || changes?.length === 0) return base;
    throw new CliError(escapeLines(differsText(base, changes)));
  }
  const body = { base, text, reason, isMove: true };
  const pushed = await admin.request<ChangedCatalogResponse>('POST', '/catalog/revisions', body);
  const { number, createdAt, inForceAt } = pushed;
  // Waits until the revision is in force, because a gateway that starts before has no models.
  if (number !== base) await delay(Math.max(0, Date.parse(inForceAt!) - Date.parse(createdAt)));
  return number;
}

function differsText(base: number, changes: readonly CatalogChangeResponse[] | null): string {
  return [
    `The database has a catalog already: revision ${base}. With the sections of this file it would change:`,
    describeChanges(changes),
    'To use the catalog of the database on this node, add --adopt. The sections of the file are then removed; keep a copy if you need them.',
    'To put the sections of the file in force on all nodes instead, add --replace.',
  ].join('\n');
}

const SETTLE_MS = 5_000;

/**
 * Returns the catalog once no revision is scheduled. A revision that was pushed just now is in force after a few seconds.
 *
 * @throws CliError if one is scheduled for later
 */
async function readSettled(admin: AdminClient): Promise<CatalogResponse> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const catalog = await readCatalog(admin);
    if (catalog.scheduled === null) return catalog;
    if (waitedMs >= SETTLE_MS) {
      const { number } = catalog.scheduled;
      throw new CliError(`Revision ${number} is scheduled. Cancel it, or wait until it is in force.`);
    }
    await delay(POLL_MS);
  }
}

const POLL_MS = 500;
