import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startCall } from '../support/client.ts';
import { assertEstimated, begunStream, families, modes, requestOf } from '../support/families.ts';
import { assertSpent, clientLeaves, costNano, startGateway, type TestGateway } from '../support/gateway.ts';
import { chatStream, liveResponse } from '../support/provider.ts';
import { exchange } from '../support/transport.ts';

/** What happens at the provider and to the account when a client leaves or does not read. */

describe(`clients that leave`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.stop());

  for (const family of families) {
    test(`${family.name}: a non-streaming response whose client has left is awaited and charged in full`, async () => {
      const account = await gateway.createAccount();
      const live = liveResponse({ 'content-type': 'application/json' });
      gateway.provider.respond = live.respond;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + family.path, account.key, requestOf(false));
      await live.opened;
      started.drop();
      await left;
      await live.write(JSON.stringify(family.whole()));
      live.end();
      const { status, httpStatus, errorCode, usage } = await account.endedCall();
      assert.deepEqual(
        { status, httpStatus, errorCode, source: usage.source },
        { status: 'succeeded', httpStatus: 200, errorCode: null, source: 'observed' },
      );
      await assertSpent(account, family.cost);
    });

    test(`${family.name}: a stream whose client leaves is cancelled at the provider, and what was received is charged`, async () => {
      const account = await gateway.createAccount();
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const body = requestOf(true);
      const started = startCall(gateway.url + family.path, account.key, body);
      await live.opened;
      await live.write(begunStream(family).join(''));
      await (await started.response).until('Hello');
      started.drop();
      await live.closed;
      const tokens = { input: family.inputTokens(body), output: 2 };
      await assertEstimated(account, tokens, { status: 'aborted', errorCode: null });
    });

    for (const { kind, isStream } of modes) {
      test(`${family.name}, ${kind}: a client that leaves during admission is charged nothing, and the provider is not called`, async () => {
        const account = await gateway.createAccount();
        const asked = gateway.provider.requests.length;
        const admission = gateway.observed.statement('reservations.admit');
        const before = admission.asked;
        admission.hold();
        const left = clientLeaves(gateway);
        const started = startCall(gateway.url + family.path, account.key, requestOf(isStream));
        await admission.reached(before + 1);
        started.drop();
        await left;
        admission.release();
        await account.endedCall();
        assert.equal(gateway.provider.requests.length, asked);
        await assertSpent(account, 0n);
        assert.equal((await account.lastCall()).status, 'failed');
      });
    }
  }

  test('a client that leaves without having read is noticed, and the provider is cancelled', async () => {
    const account = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const started = startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true), { isPaused: true });
    await live.opened;
    const { pending } = await writeUntilBlocked(gateway, live.write);
    pending.catch(() => undefined);
    started.drop();
    await live.closed;
    const { status, usage } = await account.endedCall();
    assert.equal(status, 'aborted');
    assert.equal(usage.source, 'estimated');
  });
});

describe(`clients that leave, with onClientAbort: drain`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ billing: 'onClientAbort: drain' });
  });
  after(() => gateway.stop());

  for (const family of families) {
    test(`${family.name}: the stream goes on to its end without its client, and is charged in full`, async () => {
      const account = await gateway.createAccount();
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + family.path, account.key, requestOf(true));
      await live.opened;
      const events = family.stream(['Hello', ' there']);
      await live.write(events.slice(0, 4).join(''));
      await (await started.response).until('Hello');
      started.drop();
      await left;
      for (const rest of events.slice(4)) await live.write(rest);
      live.end();
      const { status, usage } = await account.endedCall();
      assert.equal(status, 'succeeded');
      assert.equal(usage.source, 'observed');
      await assertSpent(account, family.cost);
    });
  }

  test('a client that leaves while it stalls the stream does not stall what is drained', async () => {
    const account = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const left = clientLeaves(gateway);
    const started = startCall(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true), { isPaused: true });
    await live.opened;
    await writeUntilBlocked(gateway, live.write);
    started.drop();
    await left;
    for (const piece of chatStream([], { prompt_tokens: 11, completion_tokens: 7 })) await live.write(piece);
    live.end();
    assert.equal((await account.endedCall()).status, 'succeeded');
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });
});

const PIECE_BYTES = 1024 * 1024;
/** Far more than the socket buffers between provider and client hold. */
const STREAM_BYTES = 200 * PIECE_BYTES;

/**
 * Sends a stream of 200 MiB until the sockets accept no more: a chunk is stuck if it has not been sent after many exchanges with the same
 * gateway. Returns how much was sent by then, and the chunk that is stuck.
 */
async function writeUntilBlocked(
  gateway: TestGateway,
  write: (piece: Buffer) => Promise<void>,
): Promise<{ sentBytes: number; pending: Promise<void> }> {
  const events = chatStream(['x'.repeat(16_000)], null)[1]!;
  const piece = Buffer.from(events.repeat(Math.ceil(PIECE_BYTES / events.length)));
  for (let sentBytes = piece.length; sentBytes < STREAM_BYTES; sentBytes += piece.length) {
    const pending = write(piece);
    let hasLeft = false;
    void pending.then(
      () => {
        hasLeft = true;
      },
      () => undefined,
    );
    for (let exchanges = 0; exchanges < 40 && !hasLeft; exchanges++) await exchange(gateway.url);
    if (hasLeft) continue;
    assert.ok(sentBytes < STREAM_BYTES / 2, `${sentBytes} bytes were taken although the client does not read`);
    return { sentBytes, pending };
  }
  throw new Error('the whole stream was taken although the client does not read');
}
