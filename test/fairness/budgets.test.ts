import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { call } from '../support/client.ts';
import { requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse } from '../support/provider.ts';
import { openConnection, type RawConnection, type RawResponse, requestBytes, sendRaw } from '../support/raw.ts';
import { until } from '../support/until.ts';

/** Pending bodies take from a budget, each account within its share. */

const MEBIBYTE = 2 ** 20;
const CHAT = '/v1/chat/completions';
const EDITS = '/v1/images/edits';

describe('the budget of bodies', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let greedy: TestAccount;
  let other: TestAccount;
  const open: RawConnection[] = [];
  before(async () => {
    // Large bodies have 12 MiB of the memory, and one of several accounts 10.5 MiB of memory and 7 MiB of disk.
    gateway = await startGateway({
      server: 'bodyLimit: 4MiB, bodyMemory: 16MiB, editBodyLimit: 4MiB, uploadDisk: 8MiB',
    });
    gateway.provider.respond = chatResponse();
    greedy = await gateway.createAccount();
    other = await gateway.createAccount();
    for (const account of [greedy, other]) assert.equal((await small(account)).status, 200);
  });
  afterEach(() => {
    for (const connection of open.splice(0)) connection.destroy();
  });
  after(() => gateway.stop());

  const small = (account: TestAccount) => call(gateway.url + CHAT, account.key, requestOf(false));

  /** Announces a body without sending it, and returns the status of the response: 100 if the gateway wants the body. */
  async function announce(account: TestAccount, path: string, sizeBytes: number): Promise<RawResponse> {
    const connection = await openConnection(gateway.url);
    open.push(connection);
    const headers = [
      ['authorization', `Bearer ${account.key}`],
      ['content-type', path === EDITS ? 'multipart/form-data; boundary=b' : 'application/json'],
      ['content-length', String(sizeBytes)],
      ['expect', '100-continue'],
    ] as const;
    connection.write(requestBytes({ path, headers }));
    return connection.response();
  }

  function assertOverloaded(response: Pick<RawResponse, 'status' | 'headers' | 'body'>, status = 503): void {
    assert.equal(response.status, status, response.body.toString());
    assert.equal(response.headers['x-error-code'], 'overloaded');
    assert.equal(response.headers['x-should-retry'], 'true');
    assert.ok(Number(response.headers['retry-after']) >= 1);
  }

  /** Waits until the gateway accepts a body of this size again. */
  async function wanted(account: TestAccount, path: string, sizeBytes: number): Promise<void> {
    await until(async () => (await announce(account, path, sizeBytes)).status === 100);
  }

  it('refuses bodies without memory before a byte is read, and reserves memory for others and for small bodies', async () => {
    for (let i = 0; i < 2; i++) assert.equal((await announce(greedy, CHAT, 4 * MEBIBYTE)).status, 100);
    assertOverloaded(await announce(greedy, CHAT, 4 * MEBIBYTE));
    const inMessages = await announce(greedy, '/v1/messages', 4 * MEBIBYTE);
    assertOverloaded(inMessages, 529);
    assert.equal(JSON.parse(inMessages.body.toString()).error.type, 'overloaded_error');
    assert.equal((await announce(other, CHAT, 1.25 * MEBIBYTE)).status, 100);
    for (const account of [greedy, other]) assert.equal((await small(account)).status, 200);
    for (const connection of open.splice(0)) connection.destroy();
    await wanted(greedy, CHAT, 4 * MEBIBYTE);
  });

  it('reserves disk space for others too', async () => {
    assert.equal((await announce(greedy, EDITS, 4 * MEBIBYTE)).status, 100);
    assert.equal((await announce(greedy, EDITS, 3 * MEBIBYTE)).status, 100);
    assertOverloaded(await announce(greedy, EDITS, 2 * MEBIBYTE));
    assert.equal((await announce(other, EDITS, MEBIBYTE)).status, 100);
    for (const connection of open.splice(0)) connection.destroy();
    await wanted(greedy, EDITS, 4 * MEBIBYTE);
  });

  it('counts decoded bytes, and frees them when the call has ended', async () => {
    const body = gzipSync(JSON.stringify({ ...requestOf(false), user: 'u'.repeat(3 * MEBIBYTE) }));
    const headers = [
      ['authorization', `Bearer ${greedy.key}`],
      ['content-type', 'application/json'],
      ['content-encoding', 'gzip'],
    ] as const;
    // Twelve MiB in total, more than the budget has at a time.
    for (let i = 0; i < 4; i++) {
      assert.equal((await sendRaw(gateway.url, { path: CHAT, headers, body })).status, 200);
    }
    for (let i = 0; i < 2; i++) assert.equal((await announce(greedy, CHAT, 4 * MEBIBYTE)).status, 100);
    assertOverloaded(await sendRaw(gateway.url, { path: CHAT, headers, body }));
  });

  it('counts a body in tiny chunks by its actual memory, and accepts it', async () => {
    const body = JSON.stringify({ ...requestOf(false), user: 'u'.repeat(100_000) });
    const response = await sendRaw(gateway.url, {
      path: CHAT,
      headers: [
        ['authorization', `Bearer ${other.key}`],
        ['content-type', 'application/json'],
      ],
      body,
      chunkBytes: 1,
    });
    assert.equal(response.status, 200, response.body.toString());
    assert.ok(gateway.provider.requests.at(-1)!.body.includes('u'.repeat(100_000)));
  });
});
