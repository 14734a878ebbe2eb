import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { parseYuan } from '../../src/lib/yuan.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Family, families, requestOf } from '../support/families.ts';
import {
  type HostileConnection,
  type HostileProvider,
  responseBytes,
  startHostileProvider,
} from '../support/hostile-provider.ts';
import { type RunningProgram, startProgram, temporaryDirectory } from '../support/process.ts';
import { modelOf, providerPair } from './scene.ts';

/** The gateway's memory for responses of a hundred megabytes, which can be measured only in a separate process. */

const MEBIBYTE = 2 ** 20;
const GIANT_BYTES = 100 * MEBIBYTE;
/** Much smaller than the responses, so that the tests detect a gateway that buffers them. */
const WARM_UP_BYTES = 32 * MEBIBYTE;
/** The bytes that the network can buffer. */
const NETWORK_BYTES = 32 * MEBIBYTE;

const skip = process.platform === 'linux' ? false : 'memory is read from /proc';
const [chat, messages] = families as readonly [Family, Family];

describe('responses of a hundred megabytes', { skip }, () => {
  const directory = temporaryDirectory();
  let hostile: HostileProvider;
  let stored: TestDatabase;
  let program: RunningProgram;
  let url: string;
  let accountId: string;
  let key: string;
  let idleBytes: number;

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function admin(method: string, path: string, body?: object): Promise<any> {
    const headers = { authorization: 'Bearer memory-admin-token', 'content-type': 'application/json' };
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.json();
  }

  before(async () => {
    hostile = await startHostileProvider();
    const config = join(directory.path, 'memory.yaml');
    writeFileSync(
      config,
      `
routing: { breaker: { failures: 1000000 } }
providers: ${providerPair('hostile', hostile.url)}
models: ${modelOf('hostile')}
`,
    );
    stored = await createTestDatabase();
    const environment = {
      FAREGATE_ADMIN_TOKEN: 'memory-admin-token',
      FAREGATE_DATA_DIR: join(directory.path, 'data'),
      DATABASE_URL: stored.url,
      PORT: '0',
    };
    program = startProgram(['serve', '--config', config], { environment, directory: directory.path });
    url = /listening on (\S+)/.exec(await program.printed(/listening on \S+\n/))![1]!;
    ({ id: accountId } = await admin('POST', '/accounts', { name: 'memory', verified: true }));
    await admin('POST', `/accounts/${accountId}/top-ups`, { amountYuan: '1000000' });
    ({ key } = await admin('POST', `/accounts/${accountId}/keys`, { name: 'memory' }));
    // One call of each kind, so that lazily loaded code is loaded.
    for (const family of families) {
      for (const isStream of [false, true]) {
        const body = isStream ? family.stream(['Hi']).join('') : JSON.stringify(family.whole());
        const type = isStream ? 'text/event-stream' : 'application/json';
        hostile.behave = async (connection) => {
          await connection.request();
          await connection.send(
            responseBytes({ headers: [`content-type: ${type}`, `content-length: ${body.length}`], body }),
          );
        };
        assert.equal((await receive(family.path, requestOf(isStream, 'hostile'))).status, 200);
      }
    }
    // The first large response grows the young generation to its full size, which does not count either.
    hostile.behave = async (connection) => {
      await connection.request();
      await connection.send(`${head(200, 'text/event-stream')}: `);
      await sendGiant(connection, WARM_UP_BYTES);
      connection.fin();
    };
    await receive(chat.path, requestOf(true, 'hostile'));
    idleBytes = memory();
  });
  after(async () => {
    program?.child.kill('SIGKILL');
    await program?.finished;
    await stored?.remove();
    await hostile.close();
    directory.remove();
  });

  /** The resident memory of the gateway, in bytes. */
  function memory(): number {
    const status = readFileSync(`/proc/${program.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
  }

  interface Received {
    readonly status: number;
    readonly bytes: number;
    readonly isComplete: boolean;
    /** The last thousand bytes. */
    readonly tail: string;
  }

  /** Sends a call and counts the bytes of its response. */
  function receive(path: string, body: object): Promise<Received> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const outgoing = request(url + path, { method: 'POST', agent: false, headers }, (incoming) => {
        let bytes = 0;
        let tail = Buffer.alloc(0);
        incoming.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          tail = Buffer.concat([tail, chunk.subarray(-1000)]).subarray(-1000);
        });
        incoming.on('error', () => undefined);
        incoming.on('close', () =>
          resolve({ status: incoming.statusCode!, bytes, isComplete: incoming.complete, tail: tail.toString() }),
        );
      });
      outgoing.on('error', reject);
      outgoing.end(JSON.stringify(body));
    });
  }

  /** Sends filler until the other side stops accepting it, and returns the number of bytes. */
  async function sendGiant(connection: HostileConnection, giantBytes: number): Promise<number> {
    const filling = Buffer.alloc(MEBIBYTE, 'x');
    let sentBytes = 0;
    while (sentBytes < giantBytes && !connection.isClosed) {
      await connection.send(filling);
      sentBytes += filling.length;
    }
    return sentBytes;
  }

  interface Giant {
    readonly family: Family;
    readonly isStream: boolean;
    readonly path?: string;
    readonly body?: object;
    /** The bytes before the filler, including the head, and after it. */
    readonly before: string;
    readonly behind?: string;
    /** The size of the filler; by default a hundred megabytes. */
    readonly giantBytes?: number;
  }

  /** Makes the provider send a large response, and measures the gateway's memory meanwhile. */
  async function relay(context: TestContext, giant: Giant) {
    const { family, isStream, before, behind = '', giantBytes = GIANT_BYTES } = giant;
    const balanceNano = async () => parseYuan((await admin('GET', `/accounts/${accountId}`)).balanceYuan)!;
    const balanceBefore = await balanceNano();
    const sent = Promise.withResolvers<number>();
    hostile.behave = async (connection) => {
      await connection.request();
      await connection.send(before);
      const sentBytes = await sendGiant(connection, giantBytes);
      await connection.send(behind);
      connection.fin();
      sent.resolve(sentBytes);
    };
    let peakBytes = memory();
    const sample = (): void => {
      peakBytes = Math.max(peakBytes, memory());
    };
    const sampling = setInterval(sample, 5);
    const received = await receive(giant.path ?? family.path, giant.body ?? requestOf(isStream, 'hostile')).finally(
      () => clearInterval(sampling),
    );
    sample();
    const sentBytes = await sent.promise;
    const grown = (peakBytes - idleBytes) / MEBIBYTE;
    const figures = `${Math.round(sentBytes / MEBIBYTE)} sent, ${Math.round(received.bytes / MEBIBYTE)} received`;
    context.diagnostic(`MiB: ${figures}, memory grew by ${Math.round(grown)}`);
    const { heldYuan } = await admin('GET', `/accounts/${accountId}`);
    assert.equal(heldYuan, '0');
    const { data } = await admin('GET', `/calls?accountId=${accountId}&limit=1`);
    return { ...received, sentBytes, grown, spentNano: balanceBefore - (await balanceNano()), record: data[0] };
  }

  const head = (status: number, type: string, ...headers: readonly string[]): string =>
    responseBytes({ status, headers: [`content-type: ${type}`, 'connection: close', ...headers] }).toString();

  // Both protocols share the relevant code.
  test('an error body is truncated, and not read to its end', async (context) => {
    const before = `${head(503, 'application/json')}{"error":{"message":"`;
    const ended = await relay(context, { family: chat, isStream: false, before });
    assert.equal(ended.status, 503);
    assert.ok(ended.bytes < 8_192 && ended.sentBytes < NETWORK_BYTES, `${ended.sentBytes} bytes were sent`);
    assert.ok(ended.grown < 48, `${ended.grown} MiB`);
    assert.equal(ended.spentNano, 0n);
  });

  test('a non-streaming response to a stream call is a 502, and not read to its end', async (context) => {
    const before = `${head(200, 'application/json')}{"x":"`;
    const ended = await relay(context, { family: messages, isStream: true, before });
    assert.equal(ended.status, 502);
    assert.ok(ended.sentBytes < NETWORK_BYTES, `${ended.sentBytes} bytes were sent`);
    assert.ok(ended.grown < 48, `${ended.grown} MiB`);
    assert.equal(ended.spentNano, 0n);
  });

  test('an endless header is a 502', async (context) => {
    const ended = await relay(context, { family: chat, isStream: false, before: 'HTTP/1.1 200 OK\r\nx-long: ' });
    assert.equal(ended.status, 502);
    assert.ok(ended.sentBytes < NETWORK_BYTES, `${ended.sentBytes} bytes were sent`);
    assert.ok(ended.grown < 48, `${ended.grown} MiB`);
    assert.equal(ended.spentNano, 0n);
  });

  test('a line of a stream is passed on in parts', async (context) => {
    const behind = `\n\n${chat.stream(['Hello']).join('')}`;
    const before = `${head(200, 'text/event-stream')}: `;
    const giantBytes = 256 * MEBIBYTE;
    const ended = await relay(context, { family: chat, isStream: true, before, behind, giantBytes });
    assert.deepEqual([ended.status, ended.isComplete, ended.record.status], [200, true, 'succeeded']);
    assert.ok(ended.bytes > GIANT_BYTES && ended.tail.endsWith(chat.terminal));
    assert.ok(ended.grown < 192, `${ended.grown} MiB`);
    assert.equal(ended.spentNano, chat.cost);
  });

  test('an endless line is not an event: an error event ends the stream', async (context) => {
    const before = `${head(200, 'text/event-stream')}${messages.stream(['Hello'])[0]}data: `;
    const giantBytes = 256 * MEBIBYTE;
    const ended = await relay(context, { family: messages, isStream: true, before, giantBytes });
    assert.deepEqual([ended.status, ended.isComplete, ended.record.status], [200, true, 'aborted']);
    assert.ok(ended.bytes > GIANT_BYTES);
    assert.match(ended.tail, /x\n\nevent: error\ndata: \{.*upstream_error.*\}\n\n$/);
    assert.ok(ended.grown < 192, `${ended.grown} MiB`);
  });

  // In the following tests, buffered bytes count too. The responses are so large that the limits still exclude buffering them.
  test('a non-streaming response is passed on, and only its beginning is buffered', async (context) => {
    const before = `${head(200, 'application/json')}{"x":"`;
    const behind = `",${JSON.stringify(chat.whole()).slice(1)}`;
    const giantBytes = 256 * MEBIBYTE;
    const ended = await relay(context, { family: chat, isStream: false, before, behind, giantBytes });
    assert.deepEqual([ended.status, ended.isComplete], [200, true]);
    assert.equal(ended.bytes, '{"x":"'.length + giantBytes + behind.length);
    assert.ok(ended.grown < 160, `${ended.grown} MiB`);
    assert.equal(ended.spentNano, chat.cost);
  });

  // Unit tests of the tap also cover the limit of events and the handling of larger ones.
  test('responses: a terminal event that is too large to be parsed is passed on in parts, and its usage estimated', async (context) => {
    const before = `${head(200, 'text/event-stream')}event: response.completed\ndata: {"type":"response.completed","response":{"x":"`;
    const behind = '"}}\n\n';
    const body = { model: 'hostile', input: 'Hello', stream: true, max_output_tokens: 50 };
    const giant = {
      family: chat,
      isStream: true,
      path: '/v1/responses',
      body,
      before,
      behind,
      giantBytes: 320 * MEBIBYTE,
    };
    const ended = await relay(context, giant);
    assert.equal(ended.status, 200);
    assert.ok(ended.bytes > 320 * MEBIBYTE);
    assert.ok(ended.grown < 288, `${ended.grown} MiB`);
    assert.equal(ended.record.usage.source, 'estimated');
  });
});
