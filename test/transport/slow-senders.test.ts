import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { parseAddressRange } from '../../src/lib/ip-address.ts';
import { requestOf } from '../support/families.ts';
import { assertSpent, startGateway, type TestGateway } from '../support/gateway.ts';
import { openConnection, type RawConnection, type RawResponse, requestBytes } from '../support/raw.ts';
import { callBytes, exchange, startServer, type TestServer } from '../support/transport.ts';

/** Clients that send slowly, as an attack or because of a slow network, and clients beyond the connection limits. */

const LIVE = requestBytes({ method: 'GET', path: '/live' });
const HEALTHZ = requestBytes({ method: 'GET', path: '/healthz' });

/** Sends one byte per exchange of other clients with the same server, until a response arrives. */
async function trickle(url: string, connection: RawConnection, bytes: Iterable<number>): Promise<RawResponse> {
  let received: RawResponse | null = null;
  const responded = connection.response().then((given) => {
    received = given;
    return given;
  });
  for (const byte of bytes) {
    if (received !== null) break;
    connection.write(Buffer.from([byte]));
    await exchange(url);
    // A response that has arrived is read first, because writing to a closed connection would discard it.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return responded;
}

function* forEver(byte: number): Generator<number> {
  for (;;) yield byte;
}

function assertTooSlow(received: RawResponse, message: RegExp, isMessages = false): void {
  assert.equal(received.status, 408, received.body.toString());
  assert.equal(received.headers.connection, 'close');
  assert.equal(received.headers['x-error-code'], 'invalid_request_error');
  const body = JSON.parse(received.body.toString());
  assert.match(body.error.message, message);
  assert.equal(body.type, isMessages ? 'error' : undefined);
}

describe('headers that take longer than server.headerTimeout', { timeout: 60_000 }, () => {
  const LATE = /headers did not arrive in time/;
  let server: TestServer;
  let live = Promise.withResolvers<ServerResponse>();
  before(async () => {
    server = await startServer({ headerTimeout: 150 }, (_request, response) => live.resolve(response));
  });
  after(() => server.close());

  test('are 408 if no byte of them arrives', async () => {
    const connection = await openConnection(server.url);
    assertTooSlow(await connection.response(), LATE);
    assert.equal((await connection.closed()).length, 0);
  });

  test('are 408 if they arrive byte by byte, on a new connection or on one that has served before', async () => {
    const head = 'GET /healthz HTTP/1.1\r\nHost: gateway.test\r\nX-Slow: ';
    for (const before of ['', HEALTHZ]) {
      const connection = await openConnection(server.url);
      connection.write(before);
      if (before !== '') assert.equal((await connection.response('GET')).status, 200);
      assertTooSlow(await trickle(server.url, connection, Buffer.from(head + 'y'.repeat(20_000))), LATE);
      assert.equal((await connection.closed()).length, 0);
    }
  });

  for (const [what, ahead] of [
    ['the beginning of another request', 'GET /he'],
    ['an empty line', '\r\n'],
  ] as const) {
    test(`do not truncate the previous response: pipelined ${what}`, async () => {
      live = Promise.withResolvers();
      const connection = await openConnection(server.url);
      connection.write(Buffer.concat([LIVE, Buffer.from(ahead)]));
      const response = await live.promise;
      response.writeHead(200);
      response.write('begin ');
      await connection.received('begin ');
      // A silent connection is closed after the same time, so that time has passed when it is.
      for (let i = 0; i < 2; i++) {
        const silent = await openConnection(server.url);
        await silent.response();
      }
      response.end('end');
      const received = await connection.response('GET');
      assert.deepEqual([received.status, received.body.toString()], [200, 'begin end']);
      if (ahead === '\r\n') {
        connection.write(HEALTHZ);
        assert.equal((await connection.response('GET')).status, 200);
        connection.destroy();
      } else {
        assert.equal((await connection.closed()).length, 0);
      }
    });
  }
});

describe('a body that arrives more slowly than 8 KiB in server.uploadIdleTimeout', { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ server: 'uploadIdleTimeout: 250ms' });
  });
  after(() => gateway.stop());

  const announced = (bytes: Buffer, framing: string): Buffer =>
    Buffer.from(
      bytes.toString('latin1').replace(/Content-Length: \d+\r\n\r\n[\s\S]*$/, `${framing}\r\n\r\n`),
      'latin1',
    );

  for (const [path, type, begin] of [
    ['/v1/chat/completions', 'application/json', ' '],
    ['/v1/messages', 'application/json', ' '],
    ['/v1/messages/count_tokens', 'application/json', ' '],
    [
      '/v1/images/edits',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n',
    ],
  ] as const) {
    test(`${path}: is 408 although it never stalls, and costs nothing`, async () => {
      const account = await gateway.createAccount();
      const isMessages = path.startsWith('/v1/messages');
      const head = requestBytes({
        path,
        body: '',
        headers: [
          ['authorization', `Bearer ${account.key}`],
          ['content-type', type],
        ],
      });
      const connection = await openConnection(gateway.url);
      connection.write(Buffer.concat([announced(head, 'Content-Length: 60000'), Buffer.from(begin)]));
      assertTooSlow(
        await trickle(gateway.url, connection, forEver(0x20)),
        /stopped arriving, or arrived too slowly/,
        isMessages,
      );
      assert.equal((await connection.closed()).length, 0);
      assert.equal(gateway.provider.requests.length, 0);
      await assertSpent(account, 0n);
    });
  }

  test('is 408 in chunks of one byte, and if it never begins', async () => {
    const account = await gateway.createAccount();
    const bytes = callBytes(account.key, '/v1/chat/completions', requestOf(false));
    const chunked = await openConnection(gateway.url);
    chunked.write(announced(bytes, 'Transfer-Encoding: chunked'));
    const chunk = Buffer.from('1\r\n \r\n');
    const chunks = (function* () {
      for (;;) yield* chunk;
    })();
    assertTooSlow(await trickle(gateway.url, chunked, chunks), /too slowly/);
    chunked.destroy();

    const silent = await openConnection(gateway.url);
    silent.write(announced(bytes, 'Content-Length: 10\r\nExpect: 100-continue'));
    assert.equal((await silent.response()).status, 100);
    assertTooSlow(await silent.response(), /too slowly/);
    silent.destroy();
    await assertSpent(account, 0n);
  });
});

describe('the rest of a request that has its response', { timeout: 60_000 }, () => {
  test('does not hold the connection beyond server.clientStallTimeout, even if bytes trickle in', async () => {
    const server = await startServer({ clientStallTimeout: 200 });
    try {
      for (const [method, path, status] of [
        ['GET', '/healthz', 200],
        ['POST', '/v1/nothing', 404],
      ] as const) {
        const connection = await openConnection(server.url);
        connection.write(requestBytes({ method, path, headers: [['content-length', '60000']] }));
        assert.equal((await connection.response(method)).status, status);
        let isClosed = false;
        const closed = connection.closed().then((left) => {
          isClosed = true;
          assert.equal(left.length, 0);
        });
        for (let sent = 0; !isClosed; sent++) {
          assert.ok(sent < 50_000);
          connection.write(' ');
          await exchange(server.url);
        }
        await closed;
      }
    } finally {
      await server.close();
    }
  });
});

describe('more connections than server.connections', { timeout: 60_000 }, () => {
  test('are closed when they are opened, which is logged once, and a new one is accepted after another has closed', async () => {
    const server = await startServer({ connections: 3, connectionsPerAddress: 3 });
    try {
      const serves = async (connection: RawConnection): Promise<void> => {
        connection.write(HEALTHZ);
        assert.equal((await connection.response('GET')).status, 200);
      };
      const open: RawConnection[] = [];
      for (let i = 0; i < 3; i++) {
        const connection = await openConnection(server.url);
        await serves(connection);
        open.push(connection);
      }
      for (let i = 0; i < 3; i++) {
        const refused = await openConnection(server.url);
        assert.equal((await refused.closed()).length, 0);
      }
      assert.equal(server.warnings.length, 1);
      for (const connection of open) await serves(connection);
      const ended = new Promise<void>((resolve) => {
        server.app.server.once('request', (request) => request.socket.once('close', () => resolve()));
      });
      open[0]!.write(HEALTHZ);
      await open[0]!.response('GET');
      open[0]!.destroy();
      await ended;
      const another = await openConnection(server.url);
      await serves(another);
      for (const connection of [another, ...open]) connection.destroy();
    } finally {
      await server.close();
    }
  });
});

describe('more connections of one address than server.connectionsPerAddress', { timeout: 60_000 }, () => {
  async function assertServes(connection: RawConnection): Promise<void> {
    connection.write(HEALTHZ);
    assert.equal((await connection.response('GET')).status, 200);
  }
  async function assertClosed(connection: RawConnection): Promise<void> {
    assert.equal((await connection.closed()).length, 0);
  }

  test('are closed when they are opened, which is logged once, so that silent sockets do not block others', async () => {
    // With a long stall timeout, the interval between two warnings exceeds the test.
    const server = await startServer({ connections: 300, clientStallTimeout: 3_600_000 });
    try {
      const silent: RawConnection[] = [];
      for (let i = 0; i < 300; i++) silent.push(await openConnection(server.url, { localAddress: '127.0.0.2' }));
      await Promise.all(silent.slice(150).map(assertClosed));
      for (const localAddress of ['127.0.0.1', '127.0.0.3', '127.0.0.4']) {
        const innocent = await openConnection(server.url, { localAddress });
        await assertServes(innocent);
        innocent.destroy();
      }
      await assertServes(silent[0]!);
      assert.deepEqual(server.warnings, [
        'an address reached the limit server.connectionsPerAddress; closing its further connections',
      ]);
      for (const connection of silent) connection.destroy();
    } finally {
      await server.close();
    }
  });

  test('are accepted again when one has closed', async () => {
    const server = await startServer({ connections: 10, connectionsPerAddress: 1 });
    try {
      const first = await openConnection(server.url);
      await assertServes(first);
      await assertClosed(await openConnection(server.url));
      const ended = new Promise<void>((resolve) => {
        server.app.server.once('request', (request) => request.socket.once('close', () => resolve()));
      });
      await assertServes(first);
      first.destroy();
      await ended;
      const next = await openConnection(server.url);
      await assertServes(next);
      next.destroy();
    } finally {
      await server.close();
    }
  });

  test('are accepted from a trusted proxy', async () => {
    const trustedProxies = [parseAddressRange('127.0.0.2')!];
    const server = await startServer({ connections: 10, connectionsPerAddress: 1, trustedProxies });
    try {
      const open: RawConnection[] = [];
      for (let i = 0; i < 5; i++) {
        const connection = await openConnection(server.url, { localAddress: '127.0.0.2' });
        await assertServes(connection);
        open.push(connection);
      }
      const direct = await openConnection(server.url, { localAddress: '127.0.0.3' });
      await assertServes(direct);
      await assertClosed(await openConnection(server.url, { localAddress: '127.0.0.3' }));
      for (const connection of [direct, ...open]) connection.destroy();
    } finally {
      await server.close();
    }
  });
});

describe('more requests of one client behind a trusted proxy than server.connectionsPerAddress', {
  timeout: 60_000,
}, () => {
  test('are refused while the others are in flight, and other clients of the proxy are served', async () => {
    const live: ServerResponse[] = [];
    const arrived = Promise.withResolvers<void>();
    const trustedProxies = [parseAddressRange('127.0.0.0/8')!];
    const server = await startServer(
      { connections: 10, connectionsPerAddress: 1, trustedProxies },
      (_request, response) => {
        live.push(response);
        arrived.resolve();
      },
    );
    const of = (client: string, path: string): Buffer =>
      requestBytes({ method: 'GET', path, headers: [['x-forwarded-for', `203.0.113.99, ${client}`]] });
    const statusOf = async (client: string): Promise<number> => {
      const connection = await openConnection(server.url);
      connection.write(of(client, '/healthz'));
      const { status } = await connection.response('GET');
      connection.destroy();
      return status;
    };
    try {
      const slow = await openConnection(server.url);
      slow.write(of('203.0.113.1', '/live'));
      await arrived.promise;
      assert.deepEqual([await statusOf('203.0.113.1'), await statusOf('203.0.113.2')], [503, 200]);
      const ended = new Promise((resolve) => live[0]!.once('close', resolve));
      live[0]!.end('done');
      await ended;
      assert.equal(await statusOf('203.0.113.1'), 200);
      slow.destroy();
    } finally {
      await server.close();
    }
  });
});

describe('the limits of the section server', { timeout: 60_000 }, () => {
  test('reach the server', async () => {
    const gateway = await startGateway({ server: 'headerTimeout: 7s, connections: 321' });
    const { headersTimeout, maxConnections } = gateway.gateway.app.server;
    await gateway.stop();
    assert.deepEqual({ headersTimeout, maxConnections }, { headersTimeout: 7000, maxConnections: 321 });
  });

  test('of one address reach the server', async () => {
    const gateway = await startGateway({ server: 'connectionsPerAddress: 1, trustedProxies: [127.0.0.0/31]' });
    try {
      const silent = await openConnection(gateway.url, { localAddress: '127.0.0.2' });
      const refused = await openConnection(gateway.url, { localAddress: '127.0.0.2' });
      assert.equal((await refused.closed()).length, 0);
      silent.destroy();
      // From a trusted proxy, including the test's own connection.
      await exchange(gateway.url, 2);
    } finally {
      await gateway.stop();
    }
  });
});
