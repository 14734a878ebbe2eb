import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../src/lib/seeded-random.ts';
import { runCommand } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { startProgram, temporaryDirectory } from '../support/process.ts';
import { until } from '../support/until.ts';

/** Number of times that the first start of the demo is killed, each at another moment after its secrets are stored. */
const KILLS = 2;
/** About the time until the demo serves. */
const MAKING_MS = 3_000;
/** Different moments in each run. */
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000);

describe(`a demo that is killed while it is created`, { timeout: 300_000 }, () => {
  it('is created once, with the secrets that were stored first', async (context) => {
    const directory = temporaryDirectory();
    const server = await createTestDatabase();
    const randomSource = seededRandom(SEED);
    context.diagnostic(`CRASH_SEED=${SEED}`);
    try {
      const dataDir = join(directory.path, 'data');
      const file = join(dataDir, 'demo.json');
      const environment = { PORT: '0', FAREGATE_DATA_DIR: dataDir, DATABASE_URL: server.url };
      const start = () => startProgram(['serve'], { environment, directory: directory.path });
      let secrets = '';
      for (let kill = 0; kill < KILLS; kill++) {
        const demo = start();
        await until(() => existsSync(file));
        await sleep(randomSource() * MAKING_MS);
        demo.child.kill('SIGKILL');
        await demo.finished;
        secrets ||= readFileSync(file, 'utf8');
        assert.equal(readFileSync(file, 'utf8'), secrets);
      }
      const demo = start();
      const printed = await demo.printed(/Ctrl-C/);
      assert.equal(/API key +(\S+)/.exec(printed)?.[1], JSON.parse(secrets).key);
      assert.equal(/user and password +demo +(\S+)/.exec(printed)?.[1], JSON.parse(secrets).password);
      const cli = async (...given: string[]) => {
        const { code, stdout, stderr } = await runCommand([...given, '--json'], environment);
        assert.equal(code, 0, stderr);
        return JSON.parse(stdout);
      };
      const accounts = await cli('account', 'list');
      const names = accounts.map(({ name }: { name: string }) => name).sort();
      assert.deepEqual(names, ['Blue Harbor Design', 'Fern Studio', 'Northwind Research', 'Tidewater Labs', 'demo']);
      assert.equal((await cli('account', 'show', 'demo')).balanceYuan, '100');
      assert.equal((await cli('plan', 'show', 'demo')).data?.length ?? 1, 1);
      assert.equal((await cli('user', 'list')).length, 4);
      assert.equal((await cli('audit')).isSound, true);
      demo.child.kill('SIGINT');
      assert.equal((await demo.finished).code, 0);
    } finally {
      await server.remove();
      directory.remove();
    }
  });
});
