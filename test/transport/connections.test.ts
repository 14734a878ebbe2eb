import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { requestOf } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse, chatStream, json, liveResponse, messagesResponse, type Respond } from '../support/provider.ts';
import { openConnection, type RawConnection, type RawResponse, requestBytes } from '../support/raw.ts';
import { callBytes, exchange } from '../support/transport.ts';

/** One connection and many requests: sequential, pipelined, or followed by a closed sending side. */

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const CHAT_COST = costNano({ input: 11, output: 7 });
const MESSAGES_COST = costNano({ input: 12, output: 8 });

const asAsked: Respond = (request, response) =>
  (request.path.endsWith('/messages') ? messagesResponse() : chatResponse())(request, response);

let gateway: TestGateway;
let poor: TestAccount;
const warnings: Error[] = [];
const onWarning = (warning: Error): void => void warnings.push(warning);

before(async () => {
  process.on('warning', onWarning);
  gateway = await startGateway({ server: 'bodyLimit: 64KiB' });
  poor = await gateway.createAccount({ balanceYuan: '0' });
});
after(async () => {
  await gateway.stop();
  process.off('warning', onWarning);
  // For example of listeners that accumulate on a connection.
  assert.deepEqual(warnings, []);
});

const healthz = requestBytes({ method: 'GET', path: '/healthz' });
const wholeCall = (account: TestAccount, more: object = {}): Buffer =>
  callBytes(account.key, CHAT, { ...requestOf(false), ...more });
const streamCall = (account: TestAccount): Buffer =>
  callBytes(account.key, CHAT, { ...requestOf(true), stream_options: { include_usage: true } });

const upgrade = requestBytes({
  method: 'GET',
  path: CHAT,
  headers: [
    ['connection', 'upgrade'],
    ['upgrade', 'websocket'],
  ],
});

/** The gateway's socket of the next connection. */
function nextSocket(): Promise<Socket> {
  return new Promise((resolve) => gateway.gateway.app.server.once('connection', resolve));
}

interface Opened {
  readonly connection: RawConnection;
  /** The gateway's side. */
  readonly socket: Socket;
  /** Resolves when the gateway's side is closed. */
  readonly gone: Promise<void>;
}

async function opened(): Promise<Opened> {
  const accepted = nextSocket();
  const connection = await openConnection(gateway.url);
  const socket = await accepted;
  return { connection, socket, gone: new Promise((resolve) => socket.once('close', () => resolve())) };
}

describe('a keep-alive connection', { timeout: 120_000 }, () => {
  test('serves hundreds of calls of all kinds, each with its own response, and charges every success once', async () => {
    const account = await gateway.createAccount();
    const call = (body: object | string, more = {}) => callBytes(account.key, CHAT, body, more);
    const failing =
      (respond: Respond): (() => void) =>
      () => {
        gateway.provider.respond = respond;
      };
    const kinds: readonly {
      readonly status: number;
      readonly bytes: Buffer;
      readonly method?: string;
      readonly cost?: bigint;
      readonly calls?: 1;
      readonly prepare?: () => void;
      readonly text?: RegExp;
    }[] = [
      { status: 200, bytes: call(requestOf(false)), cost: CHAT_COST, calls: 1 },
      { status: 200, bytes: streamCall(account), cost: CHAT_COST, calls: 1, text: /data: \[DONE\]\n\n$/ },
      { status: 200, bytes: callBytes(account.key, MESSAGES, requestOf(false)), cost: MESSAGES_COST, calls: 1 },
      {
        status: 200,
        bytes: callBytes(account.key, MESSAGES, requestOf(true)),
        cost: MESSAGES_COST,
        calls: 1,
        text: /message_stop/,
      },
      { status: 200, bytes: call(requestOf(false), { chunkBytes: 7 }), cost: CHAT_COST, calls: 1 },
      { status: 200, bytes: healthz, method: 'GET' },
      { status: 200, bytes: requestBytes({ method: 'HEAD', path: '/healthz' }), method: 'HEAD' },
      { status: 400, bytes: call('{') },
      { status: 401, bytes: callBytes('wrong', CHAT, requestOf(false)) },
      { status: 402, bytes: wholeCall(poor) },
      { status: 404, bytes: requestBytes({ path: '/v1/nothing', body: '{}' }) },
      { status: 404, bytes: call({ ...requestOf(false), model: 'none' }) },
      { status: 405, bytes: requestBytes({ method: 'PUT', path: CHAT, body: '{}' }) },
      {
        status: 415,
        bytes: requestBytes({ path: CHAT, body: '{}', headers: [['authorization', `Bearer ${account.key}`]] }),
      },
      {
        status: 429,
        bytes: call(requestOf(false)),
        calls: 1,
        prepare: failing(json(429, { error: { message: 'Slow.' } })),
      },
      { status: 502, bytes: call(requestOf(false)), calls: 1, prepare: failing(json(200, '<html>')) },
      {
        status: 502,
        bytes: call(requestOf(true)),
        calls: 1,
        prepare: failing((_request, response) => void response.socket!.destroy()),
      },
    ];
    const asked = gateway.provider.requests.length;
    let spent = 0n;
    let carried = 0;
    const { connection, gone } = await opened();
    for (let responses = 0; responses < 200; responses++) {
      const kind = kinds[responses % kinds.length]!;
      gateway.provider.respond = asAsked;
      kind.prepare?.();
      connection.write(kind.bytes);
      const response: RawResponse = await connection.response(kind.method ?? 'POST');
      assert.equal(response.status, kind.status, `${responses}: ${response.body}`);
      assert.notEqual(response.headers.connection, 'close', `${responses}: ${response.body}`);
      if (kind.text !== undefined) assert.match(response.body.toString(), kind.text);
      if (response.status >= 400) assert.ok(JSON.parse(response.body.toString()).error.message);
      spent += kind.cost ?? 0n;
      carried += kind.calls ?? 0;
    }
    connection.destroy();
    await gone;
    gateway.provider.respond = asAsked;
    assert.equal(gateway.provider.requests.length, asked + carried);
    await assertSpent(account, spent);
    await assertSpent(poor, 100_000_000_000n);
  });

  for (const [what, status, bytes] of [
    ['a body that is too large', 413, (key: string) => callBytes(key, CHAT, ' '.repeat(64 * 1024 + 1))],
    [
      'a body in chunks that is too large',
      413,
      (key: string) => callBytes(key, CHAT, ' '.repeat(64 * 1024 + 1), { chunkBytes: 1024 }),
    ],
    ['a WebSocket', 426, () => upgrade],
    ['headers that are too large', 431, () => requestBytes({ path: CHAT, headers: [['x', 'y'.repeat(70_000)]] })],
  ] as const) {
    test(`is closed, with connection: close in the response, after ${what}`, async () => {
      const account = await gateway.createAccount();
      const { connection } = await opened();
      connection.write(bytes(account.key));
      const response = await connection.response();
      assert.equal(response.status, status);
      assert.equal(response.headers.connection, 'close');
      assert.equal((await connection.closed()).length, 0);
      await assertSpent(account, 0n);
    });
  }
});

describe('pipelined requests', { timeout: 120_000 }, () => {
  test('wait for the previous response: ten calls after a long stream begin when it has ended, in order, each charged once', async () => {
    const account = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const asked = gateway.provider.requests.length;
    const { connection } = await opened();
    const call = (i: number): Buffer => wholeCall(account, { user: `call ${i}` });
    connection.write(Buffer.concat([streamCall(account), ...Array.from({ length: 10 }, (_, i) => call(i))]));
    await live.opened;
    const [begin, ...rest] = chatStream(['Hello'], { prompt_tokens: 11, completion_tokens: 7 });
    await live.write(begin!);
    await connection.received(begin!);
    await exchange(gateway.url, 20);
    assert.equal(gateway.provider.requests.length, asked + 1, 'a call was begun before its turn');
    gateway.provider.respond = (request, response) => {
      const { user } = JSON.parse(request.body.toString());
      json(200, { user, usage: { prompt_tokens: 11, completion_tokens: 7 } })(request, response);
    };
    await live.write(rest.join(''));
    live.end();
    assert.match((await connection.response()).body.toString(), /\[DONE\]\n\n$/);
    for (let i = 0; i < 10; i++)
      assert.equal(JSON.parse((await connection.response()).body.toString()).user, `call ${i}`);
    connection.write(healthz);
    assert.equal((await connection.response('GET')).status, 200);
    connection.destroy();
    assert.equal(gateway.provider.requests.length, asked + 11);
    await assertSpent(account, 11n * CHAT_COST);
  });

  test('are handled independently: an invalid one between valid ones costs nothing and delays none', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = asAsked;
    const { connection } = await opened();
    connection.write(
      Buffer.concat([
        streamCall(account),
        callBytes(account.key, CHAT, '{'),
        healthz,
        wholeCall(account),
        wholeCall(poor),
      ]),
    );
    assert.match((await connection.response()).body.toString(), /\[DONE\]\n\n$/);
    assert.equal((await connection.response()).status, 400);
    assert.equal((await connection.response('GET')).status, 200);
    assert.equal((await connection.response()).status, 200);
    assert.equal((await connection.response()).status, 402);
    connection.destroy();
    await assertSpent(account, 2n * CHAT_COST);
  });

  for (const [what, status, bytes] of [
    ['a WebSocket that is refused', 426, () => upgrade],
    ['a request without Host', 400, () => Buffer.from('GET /healthz HTTP/1.1\r\n\r\n')],
    [
      'a request that says itself that it is the last',
      200,
      () => Buffer.from('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    ],
    ['a request of HTTP/1.0', 200, () => Buffer.from('GET /healthz HTTP/1.0\r\n\r\n')],
    [
      'a call that is too large',
      413,
      (account: TestAccount) => callBytes(account.key, CHAT, ' '.repeat(64 * 1024 + 1)),
    ],
    [
      'a call with connection: close',
      401,
      () => callBytes('wrong', CHAT, requestOf(false), { headers: [['connection', 'close']] }),
    ],
  ] as const) {
    test(`do not run after ${what}, which closes the connection`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = asAsked;
      const asked = gateway.provider.requests.length;
      const { connection } = await opened();
      connection.write(Buffer.concat([bytes(account), wholeCall(account), wholeCall(account)]));
      const response = await connection.response('GET');
      assert.equal(response.status, status);
      assert.equal(response.headers.connection, 'close');
      assert.equal((await connection.closed()).toString(), '');
      await exchange(gateway.url, 5);
      assert.equal(gateway.provider.requests.length, asked);
      await assertSpent(account, 0n);
    });
  }

  test('do not run if their client disconnects during the previous one, which is cancelled', async () => {
    const account = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const asked = gateway.provider.requests.length;
    const { connection, gone } = await opened();
    connection.write(Buffer.concat([streamCall(account), streamCall(account), wholeCall(account)]));
    await live.opened;
    const [begin] = chatStream(['Hello']);
    await live.write(begin!);
    await connection.received(begin!);
    connection.destroy();
    await gone;
    await live.closed;
    assert.equal((await account.endedCall()).status, 'aborted');
    await exchange(gateway.url, 5);
    assert.equal(gateway.provider.requests.length, asked + 1);
  });

  for (const [what, broken] of [
    ['bytes that are not HTTP', () => Buffer.from([0xff, 0xfe, 0x0d, 0x0a, 0x0d, 0x0a])],
    [
      'a call whose body breaks',
      (account: TestAccount) =>
        Buffer.from(
          wholeCall(account)
            .toString()
            .replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked'),
        ),
    ],
    [
      'headers that are too large',
      () => requestBytes({ method: 'GET', path: '/', headers: [['x', 'y'.repeat(70_000)]] }),
    ],
  ] as const) {
    test(`that end with ${what}: the calls before it get their responses and are charged, then the connection is closed`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = asAsked;
      const asked = gateway.provider.requests.length;
      const { connection } = await opened();
      connection.write(Buffer.concat([wholeCall(account), wholeCall(account), broken(account)]));
      for (let i = 0; i < 2; i++) {
        const response = await connection.response();
        assert.equal(response.status, 200, response.body.toString());
        assert.ok(JSON.parse(response.body.toString()).usage);
      }
      assert.equal((await connection.closed()).toString(), '');
      assert.equal(gateway.provider.requests.length, asked + 2);
      await assertSpent(account, 2n * CHAT_COST);
    });
  }

  test('may be many: five hundred get their responses in order', async () => {
    const { connection } = await opened();
    const count = 500;
    connection.write(
      Buffer.concat(
        Array.from({ length: count }, (_, i) =>
          i % 2 === 0
            ? healthz
            : requestBytes({ method: 'GET', path: `/v1/nothing/${i}`, headers: [['x-filler', 'f'.repeat(200)]] }),
        ),
      ),
    );
    for (let i = 0; i < count; i++) assert.equal((await connection.response('GET')).status, i % 2 === 0 ? 200 : 404);
    connection.destroy();
  });

  test('are limited: with thousands after a slow call, the connection is closed as if the client had disconnected', async () => {
    const account = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const { connection, socket, gone } = await opened();
    connection.write(streamCall(account));
    await live.opened;
    // The gateway stops reading after some requests, unless the system delivers thousands at once. It does not always do so.
    socket.on('pause', () => setImmediate(() => socket.resume()));
    connection.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20_000));
    await gone;
    await live.write(chatStream(['Hello'])[0]!);
    await live.closed;
    assert.equal((await account.endedCall()).status, 'aborted');
  });
});

describe('a client that closes its sending side after its request', { timeout: 60_000 }, () => {
  test('gets the responses to safe requests before the connection is closed', async () => {
    const account = await gateway.createAccount();
    const { connection } = await opened();
    const get = (path: string) =>
      requestBytes({ method: 'GET', path, headers: [['authorization', `Bearer ${account.key}`]] });
    const paths = ['/v1/user/balance', '/healthz', '/v1/models', '/readyz'];
    connection.write(Buffer.concat(paths.map(get)));
    connection.halfClose();
    for (const path of paths) assert.equal((await connection.response('GET')).status, 200, path);
    assert.equal((await connection.closed()).length, 0);
  });

  test('counts as disconnected after a call: the call is not sent to the provider, and costs nothing', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = asAsked;
    const asked = gateway.provider.requests.length;
    const admission = gateway.observed.statement('reservations.admit');
    for (const [index, bytes] of [wholeCall(account), streamCall(account)].entries()) {
      const before = admission.asked;
      admission.hold();
      const { connection, gone } = await opened();
      connection.write(bytes);
      await admission.reached(before + 1);
      connection.halfClose();
      await gone;
      admission.release();
      assert.equal((await connection.closed()).length, 0);
      await account.endedCall(index + 1);
    }
    assert.equal(gateway.provider.requests.length, asked);
    await assertSpent(account, 0n);
  });

  test('counts as disconnected for all its pipelined requests', async () => {
    const account = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const asked = gateway.provider.requests.length;
    const { connection, gone } = await opened();
    connection.write(Buffer.concat([streamCall(account), wholeCall(account)]));
    await live.opened;
    connection.halfClose();
    await gone;
    await live.write(chatStream(['Hello'])[0]!);
    await live.closed;
    assert.equal((await account.endedCall()).status, 'aborted');
    await exchange(gateway.url, 5);
    assert.equal(gateway.provider.requests.length, asked + 1);
  });

  test('does not run a call after a safe request', async () => {
    const account = await gateway.createAccount();
    const asked = gateway.provider.requests.length;
    const ended = new Promise<void>((resolve) => {
      gateway.gateway.app.server.once('connection', (socket: Socket) => socket.once('end', () => resolve()));
    });
    const statement = gateway.observed.statement('health.ping');
    const before = statement.asked;
    statement.hold();
    const { connection } = await opened();
    connection.write(Buffer.concat([requestBytes({ method: 'GET', path: '/readyz' }), wholeCall(account)]));
    connection.halfClose();
    await statement.reached(before + 1);
    await ended;
    statement.release();
    assert.equal((await connection.response('GET')).status, 200);
    assert.equal((await connection.closed()).length, 0);
    await exchange(gateway.url, 5);
    assert.equal(gateway.provider.requests.length, asked);
    await assertSpent(account, 0n);
  });
});

describe('versions of HTTP and keep-alive', { timeout: 60_000 }, () => {
  test('a stream for a client of HTTP/1.0 is not chunked, and ends when the connection is closed', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = asAsked;
    for (const keepAlive of ['', 'Connection: keep-alive\r\n']) {
      const { connection } = await opened();
      connection.write(streamCall(account).toString().replace('HTTP/1.1\r\n', `HTTP/1.0\r\n${keepAlive}`));
      const response = await connection.response();
      assert.equal(response.headers['transfer-encoding'], undefined);
      assert.match(response.body.toString(), /^data: .*data: \[DONE\]\n\n$/s);
    }
    await assertSpent(account, 2n * CHAT_COST);
  });

  test('a client of HTTP/1.0 that requests keep-alive keeps its connection after a non-streaming response', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = asAsked;
    const { connection } = await opened();
    for (let i = 0; i < 3; i++) {
      connection.write(wholeCall(account).toString().replace('HTTP/1.1\r\n', 'HTTP/1.0\r\nConnection: keep-alive\r\n'));
      assert.equal((await connection.response()).status, 200);
    }
    connection.destroy();
    await assertSpent(account, 3n * CHAT_COST);
  });

  test('a connection stays usable after a response that was sent before the body had arrived', async () => {
    const { connection } = await opened();
    const bytes = callBytes('wrong', CHAT, requestOf(false));
    connection.write(bytes.subarray(0, -10));
    assert.equal((await connection.response()).status, 401);
    connection.write(Buffer.concat([bytes.subarray(-10), healthz]));
    assert.equal((await connection.response('GET')).status, 200);
    connection.destroy();
  });

  test('the system sends TCP keep-alive probes on connections', async (context) => {
    const requests: IncomingMessage[] = [];
    gateway.gateway.app.server.once('request', (request: IncomingMessage) => requests.push(request));
    const { connection } = await opened();
    connection.write(healthz);
    await connection.response('GET');
    const lines = await readTcpTable();
    if (lines === null) return context.skip('only Linux shows the timers of its connections');
    const { localPort, remotePort } = requests[0]!.socket;
    // `tr` in proc_net_tcp.txt: 02 is the timer for keep-alive, not for retransmission or a closed window.
    const line = lines.find(({ local, remote }) => local === localPort && remote === remotePort);
    assert.equal(line?.timer, '02');
    connection.destroy();
  });
});

async function readTcpTable(): Promise<{ local: number; remote: number; timer: string }[] | null> {
  const text = await readFile('/proc/net/tcp', 'utf8').catch(() => null);
  if (text === null) return null;
  return text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [, local = '', remote = '', , , timer = ''] = line.trim().split(/\s+/);
      const port = (address: string): number => Number.parseInt(address.split(':')[1] ?? '', 16);
      return { local: port(local), remote: port(remote), timer: timer.slice(0, 2) };
    });
}
