import assert from 'node:assert/strict';
import { existsSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { embeddedTemplate, placeEmbedded } from '../support/database.ts';
import { EngineSyncs } from '../support/engine-syncs.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';
import { PowerCutDisk } from '../support/power-cut-disk.ts';
import { recordSyncs, withoutRecordedSyncs } from '../support/recorded-syncs.ts';
import { inFullRunsOnly } from '../support/scope.ts';
import { sql } from '../support/sql.ts';

const countRows = { name: 'test.count-kept', text: 'select count(*)::int as n from kept' };
const insertRow = { name: 'test.insert-kept', text: 'insert into kept values (1)' };

describe('the embedded database on its disk', { timeout: 180_000 }, () => {
  let directory: string;
  let dataDir: string;
  let database: Database | null;
  beforeEach(() => {
    directory = realpathSync(makeFastDirectory('faregate-files-'));
    dataDir = join(directory, 'data');
    database = null;
  });
  afterEach(async () => {
    await database?.close().catch(() => undefined);
    rmSync(directory, { recursive: true, force: true });
  });

  test('syncs its log once for each transaction that changes something, before it acknowledges it', async () => {
    placeEmbedded(dataDir);
    const syncs = new EngineSyncs();
    database = await syncs.open(dataDir);
    await database.script('create table kept (n integer)');
    await database.query(insertRow);
    await database.query(countRows);
    const before = syncs.count;
    await database.query(insertRow);
    assert.equal(syncs.count - before, 1);
    await database.query(countRows);
    assert.equal(syncs.count - before, 1);
    await database.readThenWrite({
      name: 'test.count-and-insert',
      reads: [{ statement: countRows, parameters: [] }],
      decide: () => ({
        writes: [
          { statement: insertRow, parameters: [] },
          { statement: insertRow, parameters: [] },
        ],
        result: null,
      }),
    });
    assert.equal(syncs.count - before, 2);
    const settings = await sql<{ name: string; setting: string }>(
      database,
      `select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') order by name`,
    );
    assert.deepEqual(
      settings.map(({ setting }) => setting),
      ['on', 'on', 'on'],
    );
  });

  test('keeps the names of files that it made before a checkpoint, where a synced file may lose its name', async () => {
    placeEmbedded(dataDir);
    const disk = new PowerCutDisk(dataDir, embeddedTemplate());
    database = await openEmbedded({ dataDir, engineFiles: disk.engineFiles() });
    // What the engine renames at its start has its directories synced as well.
    await database.script('create table other (n integer); checkpoint');
    await database.script('create table kept (n integer)');
    await database.query(insertRow);
    // From here on the log does not say any more how the table was made.
    await database.script('checkpoint');
    const { changes } = disk;
    await database.close();
    const left = join(directory, 'left');
    disk.cut(left, { changes, randomSource: () => 1, kept: 0 });
    database = await openEmbedded({ dataDir: left });
    assert.deepEqual(await database.query(countRows), [{ n: 1 }]);
  });

  test('stops if the disk fails, acknowledges nothing more, and starts again with what it acknowledged before', async () => {
    placeEmbedded(dataDir);
    const syncs = new EngineSyncs();
    database = await syncs.open(dataDir);
    await database.script('create table kept (n integer)');
    await database.query(insertRow);
    syncs.order('fail');
    await assert.rejects(database.query(insertRow), /has stopped, .*: could not fsync file "…": I\/O error/);
    syncs.order('nothing else');
    await assert.rejects(database.query(countRows), /has stopped/);
    await database.close();
    database = await openEmbedded({ dataDir });
    const [row] = await database.query<{ n: number }>(countRows);
    assert.ok(row!.n === 1 || row!.n === 2, 'the second row may be on the disk or not');
  });

  test('starts if a power cut left its own owner file empty', async () => {
    placeEmbedded(dataDir);
    writeFileSync(join(dataDir, 'db', 'postmaster.pid'), '');
    database = await openEmbedded({ dataDir });
    assert.equal((await sql(database, 'select 1 as one')).length, 1);
  });

  test('is on the disk as a whole before it gets its name, and its name before it is used', {
    skip: withoutRecordedSyncs || inFullRunsOnly,
  }, async () => {
    const files = join(dataDir, 'db');
    const unfinished = `${files}.new`;
    const syncedBefore = new Set<string>();
    const syncs = new EngineSyncs();
    await recordSyncs(
      async () => {
        database = await syncs.open(dataDir);
      },
      (path) => {
        if (!existsSync(files)) syncedBefore.add(path);
        else if (path === dataDir) syncs.mark();
      },
    );
    assert.ok(syncs.wereOpenedAfterMark, 'the name of the database is on the disk');
    assert.ok(syncedBefore.has(directory), 'the name of the data directory is on the disk');
    assert.ok(syncedBefore.has(unfinished));
    const names = readdirSync(files, { recursive: true, encoding: 'utf8' });
    assert.ok(names.length > 900);
    const made = new Set(['postmaster.pid', 'global/pg_internal.init', 'base/5/pg_internal.init']);
    assert.deepEqual(
      names.filter((name) => !syncedBefore.has(join(unfinished, name)) && !made.has(name)),
      [],
    );
  });
});
