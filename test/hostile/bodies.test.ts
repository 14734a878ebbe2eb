import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { call, startCall } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse } from '../support/provider.ts';

/** Bodies that take long to parse. Those that are too complex, in every form: `test/attacks/stop` and `src/calls/request-workers.test.ts`. */

describe('a large body', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.stop());

  it('of a million token ids is accepted', async () => {
    gateway.provider.respond = (request, response) => {
      assert.ok(request.body.length > 2 ** 20);
      chatResponse()(request, response);
    };
    const { key } = await gateway.createAccount();
    const body = Buffer.from(`{"model":"test-chat","messages":[],"x":[${'7,'.repeat(999_999)}7]}`);
    assert.equal((await call(`${gateway.url}/v1/chat/completions`, key, body)).status, 200);
  });
});

/** Bodies with few values are parsed in the thread that serves calls, whatever their size. */
const MANY_VALUES = Array.from({ length: 150_000 }, () => 7);

describe('a thread that parses a body', () => {
  let gateway: TestGateway;
  let attacker: TestAccount;
  let other: TestAccount;
  before(async () => {
    const file = fileURLToPath(import.meta.resolve('../support/mortal-worker.ts'));
    gateway = await startGateway({
      requestWorkers: { file, quickThreadsMax: 1, placesMax: 8, taskMsMax: 5_000, heapMiBMax: 32 },
    });
    gateway.provider.respond = chatResponse();
    attacker = await gateway.createAccount();
    other = await gateway.createAccount();
  });
  after(() => gateway.stop());

  const large = (rest: object) => ({ ...rest, model: 'test-chat', messages: [], filler: MANY_VALUES });
  const send = (account: TestAccount, rest: object = {}) =>
    call(`${gateway.url}/v1/chat/completions`, account.key, large(rest));
  const estimate = (account: TestAccount, rest: object = {}) =>
    call(`${gateway.url}/v1/messages/count_tokens`, account.key, { ...rest, messages: [] });

  for (const harm of ['memory', 'time']) {
    it(`fails one call with 500 if it runs out of ${harm}, and another thread runs the waiting tasks`, async () => {
      assert.equal((await send(other)).status, 200);
      const [harmed, harmedToo, ...served] = await Promise.all([
        send(attacker, { harm }),
        estimate(attacker, { harm }),
        send(other),
        estimate(other),
        send(other),
        send(attacker),
      ]);
      for (const { status, json, text } of [harmed, harmedToo]) {
        assert.equal(status, 500, text);
        assert.equal(json.error.type, 'api_error');
      }
      assert.equal(harmed.json.error.code, 'internal_error');
      for (const { status, text } of served) assert.equal(status, 200, text);
    });
  }

  it('is not needed for a small body', async () => {
    const stuck = startCall(`${gateway.url}/v1/chat/completions`, attacker.key, large({ harm: 'time' }));
    const body = { model: 'test-chat', messages: [] };
    assert.equal((await call(`${gateway.url}/v1/chat/completions`, other.key, body)).status, 200);
    assert.equal((await stuck.response).status, 500);
  });

  it('is available to an account while another one has many bodies waiting', async () => {
    const stuck = startCall(`${gateway.url}/v1/chat/completions`, attacker.key, large({ harm: 'time' }));
    const waiting = Array.from({ length: 12 }, () => send(attacker));
    const first = await Promise.race(waiting);
    assert.equal(first.status, 503, first.text);
    assert.equal(first.json.error.code, 'overloaded');
    assert.ok(Number(first.headers['retry-after']) > 0);
    assert.equal((await send(other)).status, 200);
    assert.equal((await stuck.response).status, 500);
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    // Of eight places, one is reserved for others, and one is taken by the body that is stuck.
    assert.deepEqual(statuses.toSorted(), [...Array(6).fill(200), ...Array(6).fill(503)]);
  });
});
