import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openConnection, requestBytes } from '../support/raw.ts';
import { inFullRunsOnly } from '../support/scope.ts';

/** Requests that get their response before their body was sent: how much the gateway still reads. */

const MEBIBYTE = 2 ** 20;
const CHAT = '/v1/chat/completions';
/** The bytes that are read after a response, and those that the network buffers. */
const READ_BYTES_MAX = 64 * MEBIBYTE + 32 * MEBIBYTE;
const ENDLESS = [['content-length', String(2 * 1024 * MEBIBYTE)]] as const;

describe('a request that has its response', { timeout: 300_000 }, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.stop());

  /** Sends without end and ignores the response; resolves with the bytes that were sent until the connection was closed. */
  async function flood(head: Buffer): Promise<{ readonly sentBytes: number; readonly response: string }> {
    const { hostname, port } = new URL(gateway.url);
    const socket: Socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    let response = '';
    socket.on('data', (bytes) => {
      response += bytes.toString('latin1');
    });
    socket.on('error', () => undefined);
    const closed = once(socket, 'close').catch(() => undefined);
    await once(socket, 'connect');
    socket.write(head);
    const piece = Buffer.alloc(MEBIBYTE, ' ');
    let isOver = false;
    void closed.then(() => {
      isOver = true;
    });
    while (!isOver && socket.bytesWritten < 2 * READ_BYTES_MAX) {
      if (!socket.write(piece)) await Promise.race([closed, new Promise((resolve) => socket.once('drain', resolve))]);
    }
    const sentBytes = socket.bytesWritten;
    socket.destroy();
    return { sentBytes, response };
  }

  for (const [what, method, path, status] of [
    ['a GET that is served', 'GET', '/healthz', 200],
    ['a call without a key', 'POST', '/v1/chat/completions', 401],
    ['an unknown address', 'POST', '/v1/nothing', 404],
    ['a method that is not allowed', 'PUT', '/v1/chat/completions', 405],
  ] as const) {
    const skip = status !== 401 && path !== '/healthz' && inFullRunsOnly;
    test(`is read only up to a limit: ${what}, with 2 GB`, { skip }, async () => {
      const { sentBytes, response } = await flood(requestBytes({ method, path, headers: ENDLESS }));
      assert.match(response, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(response, /\r\nconnection: close\r\n/i);
      assert.ok(sentBytes < READ_BYTES_MAX, `${sentBytes} bytes were taken`);
    });
  }

  test('is read only up to a limit in chunks too', async () => {
    const head = requestBytes({ method: 'GET', path: '/healthz', headers: [['transfer-encoding', 'chunked']] });
    const { sentBytes } = await flood(Buffer.concat([head, Buffer.from('7fffffff\r\n')]));
    assert.ok(sentBytes < READ_BYTES_MAX, `${sentBytes} bytes were taken`);
  });

  test('delivers the response to a client that sends all of a large body before it reads', async () => {
    const sizeBytes = 40 * MEBIBYTE;
    const connection = await openConnection(gateway.url);
    connection.write(
      requestBytes({
        path: '/v1/chat/completions',
        headers: [['authorization', 'Bearer x']],
        body: 'x'.repeat(sizeBytes),
      }),
    );
    const response = await connection.response();
    assert.deepEqual([response.status, response.headers.connection], [401, 'close']);
    assert.equal((await connection.closed()).length, 0);
  });

  test('keeps its connection if the rest is short and arrives', async () => {
    const connection = await openConnection(gateway.url);
    connection.write(requestBytes({ method: 'GET', path: '/healthz', headers: [['content-length', '60000']] }));
    assert.equal((await connection.response('GET')).status, 200);
    connection.write('x'.repeat(60_000));
    connection.write(requestBytes({ method: 'GET', path: '/healthz' }));
    assert.equal((await connection.response('GET')).status, 200);
    connection.destroy();
  });
});

/** Clients that read only after they have sent everything: a failed write hides the response from them. */
describe('a refusal reaches a client that sends all of its body first', { timeout: 60_000 }, () => {
  const sizeBytes = 4 * MEBIBYTE;
  let gateway: TestGateway;
  const keys: Record<'rich' | 'poor' | 'capped', string> = { rich: '', poor: '', capped: '' };
  before(async () => {
    gateway = await startGateway({
      server: 'bodyLimit: 4MiB, bodyMemory: 16MiB, editBodyLimit: 4MiB, uploadDisk: 8MiB',
    });
    keys.rich = (await gateway.createAccount()).key;
    keys.poor = (await gateway.createAccount({ balanceYuan: '0' })).key;
    keys.capped = (await gateway.createAccount({ dailySpendCapYuan: '0' })).key;
  });
  after(() => gateway.stop());

  const headOf = (key: string, type: string, more: readonly (readonly [string, string])[] = []) =>
    [['authorization', `Bearer ${key}`], ['content-type', type], ...more] as const;

  /** Takes the memory that one account may have for bodies. */
  async function occupyMemory(): Promise<() => void> {
    const more = [
      ['content-length', String(sizeBytes)],
      ['expect', '100-continue'],
    ] as const;
    const open = [await openConnection(gateway.url), await openConnection(gateway.url)];
    for (const connection of open) {
      connection.write(requestBytes({ path: CHAT, headers: headOf(keys.rich, 'application/json', more) }));
      assert.equal((await connection.response()).status, 100);
    }
    return () => {
      for (const connection of open) connection.destroy();
    };
  }

  for (const [status, what, { path = CHAT, key = 'rich', type = 'application/json', bytes = sizeBytes }] of [
    [401, 'an unknown key', { key: 'unknown' }],
    [402, 'no balance', { key: 'poor' }],
    [404, 'an unknown address', { path: '/v1/nothing' }],
    [413, 'a body beyond the limit', { bytes: 8 * MEBIBYTE }],
    [415, 'another content type', { type: 'text/plain' }],
    [429, 'a day that is spent', { key: 'capped' }],
    [503, 'no memory for bodies', {}],
  ] as const satisfies readonly (readonly [number, string, Sent])[]) {
    for (const chunkBytes of status === 503 ? [undefined] : [undefined, 64 * 1024]) {
      test(`${status}: ${what}${chunkBytes === undefined ? '' : ', in chunks'}`, async () => {
        const free = status === 503 ? await occupyMemory() : () => undefined;
        const headers = headOf(key in keys ? keys[key as keyof typeof keys] : key, type);
        const body = Buffer.alloc(bytes, ' ');
        const request = requestBytes({ path, headers, body, ...(chunkBytes !== undefined && { chunkBytes }) });
        const { hostname, port } = new URL(gateway.url);
        const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
        try {
          await once(socket, 'connect');
          socket.pause();
          await new Promise<void>((resolve, reject) => {
            socket.once('error', reject);
            socket.write(request, (error) => (error ? reject(error) : resolve()));
          });
          let response = '';
          for await (const piece of socket) response += String(piece);
          assert.match(response, new RegExp(`^HTTP/1\\.1 ${status} `));
          assert.match(response, /\}$/);
        } finally {
          socket.destroy();
          free();
        }
      });
    }
  }
});

interface Sent {
  readonly path?: string;
  readonly key?: string;
  readonly type?: string;
  readonly bytes?: number;
}
