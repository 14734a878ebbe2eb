import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import { assertFree } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, liveResponse } from '../support/provider.ts';
import { assertError, embeddingsAddress, requestTo, send } from './calls.ts';

/**
 * Responses above the 32 MiB that the gateway holds back. They are forwarded as they arrive, except for the last chunk, which waits for
 * the charge.
 */

const MIB = 2 ** 20;
const CHUNK_BYTES = 64 * 1024;
const ENDS = 'settlement.end';
const paid = costNano({ input: 4711 });

/** An embeddings response of exactly this size. Its usage is at the end, as with vendors. */
function embeddingsOf(sizeBytes: number, usage = ',"usage":{"prompt_tokens":4711,"total_tokens":4711}'): Buffer {
  const head = Buffer.from('{"object":"list","data":[');
  const tail = Buffer.from(`],"model":"embedder"${usage}}`);
  const item = Buffer.from(`{"object":"embedding","index":0,"embedding":[${'-0.0123456789,'.repeat(500)}0.5]}`);
  const body = Buffer.alloc(sizeBytes, 0x20);
  head.copy(body);
  let at = head.length;
  for (; at + 1 + item.length + tail.length <= sizeBytes; at += item.length) {
    if (at > head.length) body[at++] = 0x2c;
    item.copy(body, at);
  }
  tail.copy(body, sizeBytes - tail.length);
  return body;
}

/** A call whose response is read as it arrives. */
interface LargeCall {
  readonly response: IncomingMessage;
  readonly sizeBytes: number;
  body(): Buffer;
  /** Resolves when this many bytes have arrived. */
  received(sizeBytes: number): Promise<void>;
  /** Resolves at the end of the response: true if it is complete, false if the connection broke. */
  readonly ended: Promise<boolean>;
  leave(): void;
}

async function open(gateway: TestGateway, account: TestAccount): Promise<LargeCall> {
  const outgoing = request(gateway.url + embeddingsAddress.path, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
  });
  outgoing.end(JSON.stringify(requestTo(embeddingsAddress)));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let waiting: { sizeBytes: number; resolve: () => void }[] = [];
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    waiting = waiting.filter((one) => {
      if (one.sizeBytes > sizeBytes) return true;
      one.resolve();
      return false;
    });
  });
  response.on('error', () => undefined);
  return {
    response,
    get sizeBytes() {
      return sizeBytes;
    },
    body: () => Buffer.concat(chunks),
    received: (wanted) =>
      sizeBytes >= wanted ? Promise.resolve() : new Promise((resolve) => waiting.push({ sizeBytes: wanted, resolve })),
    ended: new Promise((resolve) => response.on('close', () => resolve(response.complete))),
    leave: () => response.destroy(),
  };
}

describe('4.2 large responses of embeddings', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway();
  });
  afterEach(() => gateway.observed.statement(ENDS).release());
  after(() => gateway?.stop());

  /** Starts a call whose response the test writes in chunks. */
  async function start(headers: Record<string, string> = {}) {
    account = await gateway.createAccount();
    const live = liveResponse({ 'content-type': 'application/json', ...headers });
    gateway.provider.respond = live.respond;
    const opening = open(gateway, account);
    await live.opened;
    return { live, opening };
  }

  async function write(live: { write(piece: Buffer): Promise<void> }, bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) await live.write(bytes.subarray(at, at + CHUNK_BYTES));
  }

  for (const statesLength of [false, true]) {
    const how = statesLength ? 'with' : 'without';
    it(`4.2 a response of 48 MiB ${how} a content length arrives byte for byte, and is charged by its last bytes`, async () => {
      const body = embeddingsOf(48 * MIB);
      const { live, opening } = await start(statesLength ? { 'content-length': String(body.length) } : {});
      const written = write(live, body).then(() => live.end());
      const call = await opening;
      assert.equal(call.response.statusCode, 200);
      assert.equal(call.response.headers['content-length'], statesLength ? String(body.length) : undefined);
      assert.equal(await call.ended, true);
      await written;
      assert.equal(call.sizeBytes, body.length);
      assert.ok(call.body().equals(body), 'the bytes differ');
      await assertSpent(account, paid);
      assert.equal((await account.lastCall()).status, 'succeeded');
    });
  }

  it('4.2 a response beyond 32 MiB leaves while the provider still sends it', async () => {
    const body = embeddingsOf(36 * MIB);
    const { live, opening } = await start();
    await write(live, body.subarray(0, 34 * MIB));
    const call = await opening;
    // Only the last chunk is held back, and no chunk exceeds a megabyte.
    await call.received(33 * MIB);
    assert.ok(call.sizeBytes < 34 * MIB);
    await write(live, body.subarray(34 * MIB));
    live.end();
    assert.equal(await call.ended, true);
    assert.ok(call.body().equals(body), 'the bytes differ');
    await assertSpent(account, paid);
  });

  it('4.2 the last chunk of a large response leaves only after its charge is in the books', async () => {
    const body = embeddingsOf(36 * MIB);
    const ends = gateway.observed.statement(ENDS);
    const { asked } = ends;
    ends.hold();
    const { live, opening } = await start();
    const written = write(live, body).then(() => live.end());
    const call = await opening;
    await written;
    await ends.reached(asked + 1);
    assert.ok(call.sizeBytes < body.length);
    assert.deepEqual((await account.money()).balanceNano, 100_000_000_000n);
    ends.release();
    assert.equal(await call.ended, true);
    assert.equal(call.sizeBytes, body.length);
    await assertSpent(account, paid);
  });

  it('4.2 a large response whose client leaves in the middle is read to its end, and charged', async () => {
    const body = embeddingsOf(36 * MIB);
    const { live, opening } = await start();
    await write(live, body.subarray(0, 34 * MIB));
    const call = await opening;
    await call.received(33 * MIB);
    call.leave();
    assert.equal(await call.ended, false);
    await write(live, body.subarray(34 * MIB));
    live.end();
    assert.equal((await account.endedCall()).status, 'succeeded');
    await assertSpent(account, paid);
  });

  for (const [what, usage] of [
    ['without usage', ''],
    ['whose usage is no count', ',"usage":{"prompt_tokens":"many"}'],
  ] as const) {
    it(`4.2 a large response ${what} is broken off, and nothing is charged`, async () => {
      const body = embeddingsOf(36 * MIB, usage);
      const { live, opening } = await start();
      const written = write(live, body).then(() => live.end());
      const call = await opening;
      assert.equal(call.response.statusCode, 200);
      assert.equal(await call.ended, false);
      await written;
      assert.ok(call.sizeBytes < body.length, 'the client has the whole response');
      await account.endedCall();
      await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
    });
  }

  it('4.2 a large response that becomes invalid JSON is broken off, and free', async () => {
    const body = embeddingsOf(36 * MIB);
    body[34 * MIB] = 0x7d;
    const { live, opening } = await start();
    // The gateway closes the connection at the error, so later writes fail.
    const written = write(live, body).catch(() => undefined);
    const call = await opening;
    assert.equal(await call.ended, false);
    await written;
    await live.closed;
    await account.endedCall();
    await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
  });

  it('4.2 a large response that the provider breaks off is broken off, and nothing is charged', async () => {
    const body = embeddingsOf(36 * MIB);
    const { live, opening } = await start();
    await write(live, body.subarray(0, 34 * MIB));
    const call = await opening;
    live.reset();
    assert.equal(await call.ended, false);
    await account.endedCall();
    await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
  });

  it('4.2 a response of 31 MiB without usage is 502 upstream_error, and nothing is charged', async () => {
    account = await gateway.createAccount();
    gateway.provider.respond = json(200, embeddingsOf(31 * MIB, '').toString());
    assertError(await send(gateway, account, embeddingsAddress), 'chat', {
      status: 502,
      code: 'upstream_error',
      type: 'api_error',
      retry: 'false',
    });
    await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
  });
});
