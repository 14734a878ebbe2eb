import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { Pool } from 'undici';
import { createFailureCount, send } from './send.ts';

describe('a request of the load', () => {
  const server = createServer((request, response) => {
    if (request.url === '/cut') return void response.destroy();
    response.writeHead(request.url === '/good' ? 200 : 503).end('text');
  });
  let pool: Pool;
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  after(async () => {
    await pool.close();
    server.close();
  });

  const ask = (path: string): Promise<[failure: string | null, data: string]> =>
    new Promise((resolve) => {
      let data = '';
      send(
        pool,
        { method: 'GET', path },
        {
          onData: (received) => {
            data += received.toString();
          },
          onEnd: (failure) => resolve([failure, data]),
        },
      );
    });

  it('returns data and no failure if it succeeds', async () => {
    assert.deepEqual(await ask('/good'), [null, 'text']);
  });

  it('returns status and text of a refusal, and the error of a broken connection', async () => {
    assert.deepEqual(await ask('/refused'), ['503 text', '']);
    assert.match((await ask('/cut'))[0]!, /other side closed|socket hang up|ECONNRESET/);
  });
});

describe('count of failures', () => {
  it('keeps the beginning of the first failure, and counts each once', () => {
    const failures = createFailureCount();
    failures.add('503 '.padEnd(1_000, 'x'));
    failures.add('429');
    assert.deepEqual(failures.take(), { failures: 2, firstFailure: '503 '.padEnd(300, 'x') });
    assert.deepEqual(failures.take(), { failures: 0, firstFailure: null });
  });
});
