import { randomFillSync } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { readMigrations } from './migrations.ts';
import { PREPARED_FILE, preparedKey, unpack } from './prepared/prepared-files.ts';
import { renewSystemIdentifier } from './prepared/system-identifier.ts';

/**
 * Creates the files of an embedded database in the directory named by the argument, and ends: from the prepared ones if there are some
 * for this engine and schema, else the engine makes them. It runs as a process of its own because creating a database takes several hundred
 * megabytes that a serving gateway would never give back.
 */
const [, , directory, preparedFile = PREPARED_FILE] = process.argv;

if (!fromPrepared(directory!)) {
  const { PGlite } = await import('@electric-sql/pglite');
  const database = await PGlite.create(directory!);
  await database.close();
}

/** False if there are no prepared files, or none that can be used: then the directory is not there. */
function fromPrepared(into: string): boolean {
  if (!existsSync(preparedFile!)) return false;
  try {
    if (!unpack(readFileSync(preparedFile!), preparedKey(readMigrations()), into)) return false;
    renewSystemIdentifier(into, randomFillSync);
    return true;
  } catch {
    // Files that are damaged, or of an engine that lays its own out differently, only make the first start slower.
    rmSync(into, { recursive: true, force: true });
    return false;
  }
}
