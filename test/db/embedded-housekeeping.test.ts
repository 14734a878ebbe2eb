import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PGlite } from '@electric-sql/pglite';
import { keepEmbeddedHouse } from '../../src/db/embedded-housekeeping.ts';
import { placeEmbedded } from '../support/database.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';

describe('the housekeeping of the embedded database', { timeout: 60_000 }, () => {
  let dataDir: string;
  let engine: PGlite;
  before(async () => {
    dataDir = makeFastDirectory('faregate-db-');
    placeEmbedded(dataDir);
    engine = await PGlite.create(join(dataDir, 'db'));
    // Partitions are in schemas of their own, and the session may be in any of them.
    await engine.exec(`create schema "Odd schema";
      set search_path to "Odd schema";
      create table "Odd name" (id int primary key, body text);
      alter table "Odd name" alter column body set storage external`);
  });
  after(async () => {
    await engine?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function sizeBytes(): Promise<number> {
    const { rows } = await engine.query<{ bytes: number }>(`select pg_total_relation_size('"Odd name"')::int as bytes`);
    return rows[0]!.bytes;
  }

  /** Writes rows and deletes them; the statistics are flushed at once rather than within a second. */
  async function comeAndGo(rows: number): Promise<void> {
    await engine.exec(`insert into "Odd name" (id, body) select n, 'body' from generate_series(1, ${rows}) n`);
    await engine.exec('select pg_stat_force_next_flush(); delete from "Odd name"; select pg_stat_force_next_flush()');
  }

  test('takes the space of deleted rows into use again', async () => {
    await comeAndGo(5_000);
    const once = await sizeBytes();
    for (let round = 0; round < 5; round++) {
      await engine.exec('set search_path to public');
      await keepEmbeddedHouse(engine);
      await engine.exec('set search_path to "Odd schema"');
      await comeAndGo(5_000);
    }
    assert.ok((await sizeBytes()) <= 1.5 * once, `${await sizeBytes()} bytes, and ${once} after the first round`);
  });

  test('ends a log that has grown long, and leaves a short one alone', async () => {
    const readRedo = async (): Promise<string> => {
      const { rows } = await engine.query<{ redo: string }>(
        'select redo_lsn::text as redo from pg_control_checkpoint()',
      );
      return rows[0]!.redo;
    };
    const before = await readRedo();
    await keepEmbeddedHouse(engine);
    assert.equal(await readRedo(), before);
    await engine.exec(`insert into "Odd name" (id, body) select n, repeat('x', 1000000) from generate_series(1, 70) n`);
    await keepEmbeddedHouse(engine);
    const after = await readRedo();
    assert.notEqual(after, before);
    await keepEmbeddedHouse(engine);
    assert.equal(await readRedo(), after);
  });
});
