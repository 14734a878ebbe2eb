import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openEmbedded } from '../src/db/embedded.ts';
import { MAKE_PREPARED, migrate } from '../src/db/migrate.ts';
import { readMigrations } from '../src/db/migrations.ts';
import { isPreparedFor, PREPARED_FILE, pack, preparedKey } from '../src/db/prepared/prepared-files.ts';

/**
 * Makes the files of a new embedded database once, as one file in `prepared`, so that the first start of a gateway only copies them. npm runs
 * it behind each installation, and `npm pack` takes the file along; a program without it makes a database itself, in some seconds more.
 *
 *   node scripts/prepare-database.ts [--if-possible] [FILE]
 *
 * `--if-possible`: a failure is told and is none.
 */
const isOptional = process.argv.includes('--if-possible');
const file = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? PREPARED_FILE;

await prepare().catch((error: unknown) => {
  if (!isOptional) throw error;
  console.log(`No database was prepared: ${error instanceof Error ? error.message : String(error)}`);
});

async function prepare(): Promise<void> {
  const migrations = readMigrations();
  const key = preparedKey(migrations);
  if (isPreparedFor(file, key)) return;
  rmSync(file, { force: true });
  const directory = mkdtempSync(join(tmpdir(), 'faregate-prepare-'));
  try {
    const database = await openEmbedded({ dataDir: directory });
    try {
      await migrate(database, { migrations });
      await database.script(MAKE_PREPARED);
    } finally {
      await database.close();
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, pack(join(directory, 'db'), key));
    renameSync(`${file}.new`, file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
