import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ClientAddresses } from '../../src/http/client-address.ts';
import { watchConnections } from '../../src/http/connections.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { until } from '../support/until.ts';

/** Pipelined requests take memory while they wait, from a budget of all connections. */

const AHEAD = 900;
const CONNECTIONS = 60;
const LIMITS = { connections: 1_000, clientStallTimeout: 3_600_000 };
const HEAD = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

describe('pipelined requests on many connections', () => {
  const unanswered: ServerResponse[] = [];
  const server = createServer();
  const sockets: Socket[] = [];
  let port: number;
  let close: () => Promise<unknown>;
  before(async () => {
    watchConnections(
      server,
      (request, response) => {
        if (request.url === '/now') response.end('now');
        else unanswered.push(response);
      },
      LIMITS,
      { addresses: new ClientAddresses([]), logger: silentLogger, onRefused: () => undefined },
    );
    ({ port, close } = await listenOnLoopback(server));
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await close();
  });

  function open(localAddress: string): Socket {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.on('error', () => undefined);
    socket.resume();
    sockets.push(socket);
    return socket;
  }

  it('of one address are closed beyond its share, which leaves memory for another address', async () => {
    for (let i = 0; i < CONNECTIONS; i++) open('127.0.0.1').write(HEAD.repeat(AHEAD));
    // Each request takes at least 3 KiB of 64 MiB.
    await until(() => sockets.filter(({ closed }) => closed).length >= CONNECTIONS / 2);
    const kept = sockets.filter(({ closed }) => !closed).length;
    assert.ok(kept >= 10, `${kept} connections were kept`);

    const other = open('127.0.0.2');
    let text = '';
    other.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
    });
    other.write('GET /now HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(10));
    await until(() => text.split('200 OK').length === 11);
  });

  it('free their memory when their connections are closed', async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    const count = promisify(server.getConnections.bind(server));
    // A connection that is not read is closed when something is written to it.
    await until(async () => {
      for (const response of unanswered.splice(0)) response.end();
      return (await count()) === 0;
    });
    const again = Array.from({ length: 15 }, () => open('127.0.0.1'));
    const served = unanswered.length;
    for (const socket of again) socket.write(HEAD.repeat(AHEAD));
    await until(() => unanswered.length === served + again.length);
    assert.ok(again.every(({ closed }) => !closed));
  });
});
