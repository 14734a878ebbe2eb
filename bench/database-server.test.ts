import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { makeServerDirectory, query } from '../test/support/local-servers.ts';
import { watchServer } from './database-server.ts';

describe('the server of a data directory', () => {
  const directory = makeServerDirectory();
  after(() => directory.remove());

  it('is null without a local server', async () => {
    assert.equal(await watchServer(directory.path), null);
  });

  it('reports the CPU of its processes, and the number of writing transactions', async () => {
    const { connection } = await directory.start();
    const server = (await watchServer(directory.dataDir))!;
    await query(connection, 'create table counted (number int)');
    const before = await server.read();
    const write = 'insert into counted select generate_series(1, 100000)';
    await query(connection, write, 'select count(*) from counted', write, write);
    const { cpuMicros, nextTransaction } = await server.read();
    await server.close();
    assert.equal(nextTransaction - before.nextTransaction, 3);
    assert.ok(cpuMicros > before.cpuMicros, `${cpuMicros} µs`);
  });
});
