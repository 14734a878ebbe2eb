import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

/** A list counts in the budget of bodies until its client has read it. */

const MODELS = 3_000;
/** The number of requests that a connection may pipeline. The responses are far larger than the buffers of the network. */
const AHEAD = 60;

const models = Array.from(
  { length: MODELS },
  (_, i) =>
    `  listed-model-with-a-rather-long-name-${i}: { operations: [chat], contextLength: 1000, price: { input: 1, output: 1 }, routes: [{ provider: chatty, model: m }] }`,
).join('\n');

describe('a list that nobody reads', { timeout: 240_000 }, () => {
  let gateway: TestGateway;
  const open: Socket[] = [];
  before(async () => {
    gateway = await startGateway({ server: 'bodyLimit: 1MiB, bodyMemory: 16MiB, clientStallTimeout: 1h', models });
  });
  after(async () => {
    for (const socket of open) socket.destroy();
    await gateway.stop();
  });

  async function usedBytes(): Promise<number> {
    const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    return Number(/^faregate_body_memory_used_bytes (\d+)$/m.exec(await response.text())![1]);
  }

  /** Requests a list repeatedly on one connection, and reads nothing. */
  function leaveUnread(path: string, credential: string): Socket {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    open.push(socket);
    const head = `GET ${path} HTTP/1.1\r\nhost: gateway.test\r\n${credential}\r\n`;
    socket.write(head.repeat(AHEAD));
    return socket;
  }

  const paths = {
    'without a key': ['/v1/public/models', () => ''],
    'with a key': ['/v1/models', (key: string) => `authorization: Bearer ${key}\r\n`],
    'of an operator': ['/admin/v1/routes', () => `authorization: Bearer ${ADMIN_TOKEN}\r\n`],
  } as const;

  for (const [name, [path, credentialOf]] of Object.entries(paths)) {
    it(`${name}: counts until the client has disconnected`, async () => {
      const account = await gateway.createAccount();
      const socket = leaveUnread(path, credentialOf(account.key));
      await until(async () => (await usedBytes()) > 100 * 1024, 'the list does not count');
      socket.destroy();
      await until(async () => (await usedBytes()) === 0, 'memory is not given back');
    });
  }

  it('is refused beyond the share of the account, which leaves memory for others', async () => {
    const greedy = await gateway.createAccount();
    const other = await gateway.createAccount();
    const sockets = Array.from({ length: 40 }, () =>
      leaveUnread('/v1/models', `authorization: Bearer ${greedy.key}\r\n`),
    );
    const ask = (key: string) => fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await until(async () => {
      const response = await ask(greedy.key);
      await response.arrayBuffer();
      return response.status === 503;
    }, 'nothing is refused');
    const response = await ask(other.key);
    assert.equal(response.status, 200);
    assert.equal(((await response.json()) as { data: unknown[] }).data.length >= MODELS, true);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await usedBytes()) === 0, 'memory is not given back');
  });
});
