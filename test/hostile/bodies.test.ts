import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse } from '../support/provider.ts';

/** Bodies that attack the gateway. It runs in this process, so that the tests fail if it ends. */

const MIB = 2 ** 20;
/** Slightly more values than a body may have. */
const VALUES = 1.1 * MIB;
/** Slightly less than the limit of bodies. One attack of this size stands for the others. */
const LARGEST_BYTES = 63 * MIB;

interface Attack {
  readonly path: string;
  readonly body: Buffer;
}

/** Repeats an item, which has `values` values, beyond the limit of values; `sizeBytes`: up to this size. */
function gzipped(before: string, item: string, after: string, values: number, sizeBytes?: number): Buffer {
  const items = item.repeat(sizeBytes === undefined ? VALUES / values : sizeBytes / item.length - 100);
  return gzipSync(Buffer.from(`${before}${items}${after}`), { level: 1 });
}

/** `{"9":0},` takes few bytes of a body and a hundred of the heap; `[],` makes the most values per byte. */
const attacks: Readonly<Record<string, () => Attack>> = {
  'objects as messages to be counted': () => ({
    path: '/v1/messages/count_tokens',
    body: gzipped('{"messages":[', '{"9":0},', '{}]}', 2),
  }),
  'objects as an unknown member to be counted': () => ({
    path: '/v1/responses/input_tokens',
    body: gzipped('{"model":"test-responses","x":[', '{"9":0},', '{}]}', 2),
  }),
  'objects as arguments to be compacted': () => ({
    path: '/v1/responses/compact',
    body: gzipped('{"model":"test-responses","input":[{"arguments":[', '{"9":0},', '{}]}]}', 2, LARGEST_BYTES),
  }),
  'objects as the prompt of an image': () => ({
    path: '/v1/images/generations',
    body: gzipped('{"model":"test-images","prompt":[', '{"9":0},', '{}]}', 2),
  }),
  'lists as a member of a chat': () => ({
    path: '/v1/chat/completions',
    body: gzipped('{"model":"test-chat","messages":[],"x":[', '[],', '[]]}', 1),
  }),
  'equal contexts': () => ({
    path: '/v1/responses',
    body: gzipped('{"model":"test-responses","input":[', '{"encrypted_content":""},', '{}]}', 2),
  }),
  'lists within lists': () => ({
    path: '/v1/chat/completions',
    body: gzipSync(Buffer.from(`{"model":"test-chat","messages":${'['.repeat(257)}${']'.repeat(257)}}`)),
  }),
};

describe('a hostile body', () => {
  let gateway: TestGateway;
  let attacker: TestAccount;
  let other: TestAccount;
  before(async () => {
    gateway = await startGateway();
    gateway.provider.respond = chatResponse();
    attacker = await gateway.createAccount();
    other = await gateway.createAccount();
  });
  after(() => gateway.stop());

  const chat = () => call(`${gateway.url}/v1/chat/completions`, other.key, { model: 'test-chat', messages: [] });

  for (const [name, make] of Object.entries(attacks)) {
    it(`is 400, and other accounts are served meanwhile: ${name}`, {
      timeout: 600_000,
    }, async () => {
      const { path, body } = make();
      const headers = { 'content-encoding': 'gzip' };
      const responses: ClientResponse[] = [];
      const attack = Promise.all(
        Array.from({ length: 2 }, async () => {
          responses.push(await call(gateway.url + path, attacker.key, body, { headers }));
        }),
      );
      assert.equal((await chat()).status, 200);
      await attack;
      assert.equal((await chat()).status, 200);
      for (const response of responses) {
        assert.equal(response.status, 400, response.text);
        assert.match(
          response.text,
          /is too complex: the (text has more than 1048576 values|value is nested deeper than 256)/,
        );
      }
      assert.equal(await attacker.lastCall(), undefined);
    });
  }

  it('can be distinguished from a list of a million token ids, which is accepted', async () => {
    gateway.provider.respond = (request, response) => {
      assert.ok(request.body.length > MIB);
      chatResponse()(request, response);
    };
    const input = `[${'7,'.repeat(999_999)}7]`;
    const body = Buffer.from(`{"model":"test-chat","messages":[],"x":${input}}`);
    assert.equal((await call(`${gateway.url}/v1/chat/completions`, other.key, body)).status, 200);
    gateway.provider.respond = chatResponse();
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
