import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { openConnection, type RawConnection, requestBytes } from '../../test/support/raw.ts';
import { createLingerBudget, type LingerLimits, lingerAfter } from './linger.ts';

const PATIENT: LingerLimits = { sizeBytesMax: 1024, timeoutMs: 60_000, idleTimeoutMs: 60_000 };

describe('lingerAfter', { timeout: 30_000 }, () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** A connection that has sent the head of a request to a server that responds at once. */
  async function asked(limits: LingerLimits, connectionHeader: 'close' | 'keep-alive'): Promise<RawConnection> {
    const budget = createLingerBudget();
    server = createServer((_request, response) => {
      response.once('prefinish', () => lingerAfter(response, limits, budget, ''));
      response.setHeader('connection', connectionHeader);
      response.end('early');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const connection = await openConnection(`http://127.0.0.1:${port}`);
    connection.write(requestBytes({ path: '/', headers: [['content-length', '2000']] }));
    assert.equal((await connection.response()).body.toString(), 'early');
    return connection;
  }

  /** Resolves when the server has closed all connections. */
  async function ended(): Promise<void> {
    server!.close();
    await once(server!, 'close');
  }

  for (const kind of ['close', 'keep-alive'] as const) {
    it(`closes a connection on which nothing arrives (${kind})`, async () => {
      await asked({ ...PATIENT, idleTimeoutMs: 20 }, kind);
      await ended();
    });

    it(`closes a connection on which bytes trickle (${kind})`, async () => {
      const connection = await asked({ ...PATIENT, timeoutMs: 50 }, kind);
      const trickle = setInterval(() => connection.write('x'), 5);
      await ended();
      clearInterval(trickle);
    });

    it(`closes a connection on which too much arrives (${kind})`, async () => {
      const connection = await asked(PATIENT, kind);
      connection.write('x'.repeat(1500));
      await ended();
    });
  }

  it('stops when the rest has arrived, and keeps the connection unless the response closes it', async () => {
    const limits = { ...PATIENT, sizeBytesMax: 4096 };
    const closing = await asked(limits, 'close');
    closing.write('x'.repeat(2000));
    await ended();
    const kept = await asked(limits, 'keep-alive');
    kept.write('x'.repeat(2000));
    kept.write(requestBytes({ path: '/', body: '' }));
    assert.equal((await kept.response()).body.toString(), 'early');
  });
});
