import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { LISTENING, readPrinted } from '../scripts/started-demo.ts';
import { temporaryDirectory } from '../test/support/process.ts';
import { type GatewayTarget, nodeOptions, startGatewayTarget } from './gateway-target.ts';
import type { MeterReading } from './meter.ts';

const start = (script: string): ReturnType<typeof spawn> =>
  spawn(process.execPath, ['--eval', script], { stdio: ['ignore', 'pipe', 'ignore'] });

describe('flags for the Node that a launcher starts', () => {
  it('arrive unchanged, with blanks and quotes', () => {
    const title = 'a "b" \\c';
    const env = { NODE_OPTIONS: nodeOptions(['--title', title, '--no-warnings']) };
    assert.equal(env.NODE_OPTIONS, '--title "a \\"b\\" \\\\c" --no-warnings');
    const { stdout } = spawnSync(process.execPath, ['--print', 'process.title'], { env, encoding: 'utf8' });
    assert.equal(stdout, `${title}\n`);
  });
});

describe('address of a gateway of the bench', () => {
  it('is found in the program’s output', async () => {
    const child = start("console.log('hello\\nlistening on http://127.0.0.1:1\\nbye')");
    assert.equal((await readPrinted(child)(LISTENING))[1], 'http://127.0.0.1:1');
  });

  it('fails with the output if the program exits first', async () => {
    await assert.rejects(readPrinted(start("console.log('no port')"))(LISTENING), /exited early:\nno port/);
  });
});

describe('a gateway of the bench', () => {
  const directory = temporaryDirectory();
  after(() => directory.remove());
  const started: ChildProcess[] = [];

  /** A checkout whose launcher starts another process with these responses of the admin API. */
  function startResponding(name: string, status: number): Promise<GatewayTarget> {
    const checkout = join(directory.path, name);
    mkdirSync(join(checkout, 'bin'), { recursive: true });
    writeFileSync(
      join(checkout, 'bin/faregate.js'),
      `const { spawn } = require('node:child_process');
      spawn(process.execPath, [require.resolve('../main.js')], { stdio: 'inherit' }).on('exit', () => process.exit());`,
    );
    writeFileSync(
      join(checkout, 'main.js'),
      `const server = require('node:http').createServer((_request, response) => {
        response.statusCode = ${status};
        response.end('{"id":"a","key":"sk-1"}');
      });
      server.listen(0, '127.0.0.1', () => console.log('listening on http://127.0.0.1:' + server.address().port));`,
    );
    return startGatewayTarget({
      checkout,
      upstreamUrl: 'http://127.0.0.1:9',
      databaseUrl: 'postgres://127.0.0.1:9/none',
      directory: join(checkout, 'own'),
      flags: ['--no-warnings'],
      spawn(args, environment) {
        const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...environment } });
        started.push(child);
        return child;
      },
    });
  }

  it('is started by the launcher of its checkout, replies to the meter, and is stopped', async () => {
    const { balanceKeys, codingKeys, orders, stop } = await startResponding('good', 200);
    assert.deepEqual([balanceKeys.length, codingKeys.length, balanceKeys[0]], [16, 16, 'sk-1']);
    const { cpuMicros, rssBytes } = await orders.ask<MeterReading>({ collect: true });
    assert.ok(cpuMicros > 1_000 && rssBytes > 1_000_000, `${cpuMicros} µs, ${rssBytes} bytes`);
    await stop();
    assert.notEqual(started.pop()!.exitCode, null);
  });

  it('is stopped if its admin API refuses what the bench needs', async () => {
    await assert.rejects(startResponding('refusing', 400), /"key":"sk-1"/);
    assert.notEqual(started.pop()!.exitCode, null);
  });
});
