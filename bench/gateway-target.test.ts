import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it } from 'node:test';
import { listeningAddress } from './gateway-target.ts';

const start = (script: string): ReturnType<typeof spawn> =>
  spawn(process.execPath, ['--eval', script], { stdio: ['ignore', 'pipe', 'ignore'] });

describe('address of a gateway of the bench', () => {
  it('is what the program prints, among other lines', async () => {
    const child = start("console.log('hello\\nlistening on http://127.0.0.1:1\\nbye')");
    assert.equal(await listeningAddress(child), 'http://127.0.0.1:1');
  });

  it('fails with what was printed, if the program ends before', async () => {
    await assert.rejects(listeningAddress(start("console.log('no port')")), /ended before it listened:\nno port/);
  });
});
