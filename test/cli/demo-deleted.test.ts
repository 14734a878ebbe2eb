import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readRecord } from '../../src/db/local/cluster.ts';
import { placeLocal } from '../support/local-database.ts';
import { startProgram, temporaryDirectory } from '../support/process.ts';

describe('a demo whose directory is deleted while it serves', { timeout: 120_000 }, () => {
  for (const [what, hasCluster] of [
    ['with its database', true],
    ['without its database, which is elsewhere', false],
  ] as const) {
    it(`ends at SIGINT: ${what}`, async () => {
      const directory = temporaryDirectory();
      const work = join(directory.path, 'work');
      const dataDir = join(work, 'data/demo');
      mkdirSync(work);
      placeLocal(dataDir);
      const cluster = readRecord(dataDir)!.home;
      const demo = startProgram(['serve'], {
        environment: { PORT: '0', FAREGATE_DEMO_DATA: 'none' },
        directory: work,
      });
      await demo.printed(/Ctrl-C/);
      rmSync(work, { recursive: true });
      if (hasCluster && cluster !== null) rmSync(cluster, { recursive: true });
      demo.child.kill('SIGINT');
      const { stderr } = await demo.finished;
      assert.match(stderr, /the gateway has stopped/);
      if (!hasCluster && cluster !== null) rmSync(cluster, { recursive: true });
      directory.remove();
    });
  }
});
