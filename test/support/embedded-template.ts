import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';

/**
 * The empty, migrated embedded databases that tests copy, of one partition and of several. To make one takes four seconds of the processor, so it outlives a
 * run, and the next one copies it, unless anything has changed that it was made of.
 */

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const KEPT = join(PROJECT, 'node_modules/.cache/faregate-test-databases');
/** What decides what is in it: the schema, the partitions, what opens and makes a database, and this file. */
const SOURCES = [
  'src/db/**/*.{ts,sql}',
  'src/accounting/calls/calls-store.ts',
  'test/support/embedded-template.ts',
  'test/support/global-setup.ts',
  'test/support/{opened-partitions,partitioned}.ts',
];
/** Another run may copy one for as long as that. */
const FORGOTTEN_MS = 86_400_000;

/** Puts the database into `directory`, which must not exist; `prepare` fills one if none is kept. */
export function placeTemplate(directory: string, prepare: (database: Database) => Promise<void>): Promise<void> {
  return placeKept(directory, '', async (dataDir) => {
    const embedded = await openEmbedded({ dataDir });
    await prepare(embedded);
    await dropTemplates(embedded);
    await embedded.close();
  });
}

/** Puts a database of a kind into `directory`; `make` makes one in a data directory if none is kept. */
export async function placeKept(
  directory: string,
  kind: string,
  make: (dataDir: string) => Promise<void>,
): Promise<void> {
  const kept = join(KEPT, `${templateKey(new Date())}${kind}`);
  if (!existsSync(kept)) await makeKept(kept, make);
  cpSync(kept, directory, { recursive: true });
}

/** Partitions are of months, so a database is of its day; the engine's files are of its version. */
function templateKey(now: Date): string {
  const hash = createHash('sha256').update(now.toISOString().slice(0, 'yyyy-mm-dd'.length)).update(process.version);
  const engine = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  hash.update(readFileSync(join(dirname(engine), '../package.json')));
  for (const path of globSync(SOURCES, { cwd: PROJECT }).sort())
    hash.update(path).update(readFileSync(join(PROJECT, path)));
  return hash.digest('hex').slice(0, 16);
}

/** Made under another name and renamed when it is complete: what is interrupted, or made by two runs at once, harms none. */
async function makeKept(kept: string, make: (dataDir: string) => Promise<void>): Promise<void> {
  mkdirSync(KEPT, { recursive: true });
  forgetOld();
  const making = mkdtempSync(join(KEPT, 'making-'));
  try {
    await make(join(making, 'data'));
    try {
      renameSync(join(making, 'data'), kept);
    } catch (error) {
      if (!existsSync(kept)) throw error;
    }
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

function forgetOld(): void {
  for (const name of readdirSync(KEPT)) {
    const path = join(KEPT, name);
    if (Date.now() - statSync(path).mtimeMs > FORGOTTEN_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Two thirds of the files of an embedded database, which copies of it have no use for. */
async function dropTemplates(embedded: Database): Promise<void> {
  await embedded.script('update pg_database set datistemplate = false');
  for (const name of ['template0', 'template1']) await embedded.script(`drop database ${name}`);
}
