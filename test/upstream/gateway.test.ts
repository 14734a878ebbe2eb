import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { editForm, file, formType, png, text } from '../conformance/images.ts';
import { call, startCall } from '../support/client.ts';
import { requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  chatCompletion,
  chatResponse,
  chatStream,
  json,
  type Respond,
  type ScriptedProvider,
  startProvider,
} from '../support/provider.ts';
import { type Http2Server, startHttp2Server } from '../support/upstream.ts';

/** Connection settings of a provider, observed by the gateway's clients. */

const PRICE = '{ input: "3", output: "13" }';
const CHAT = '/v1/chat/completions';

describe('the connections of a gateway to its providers', () => {
  let gateway: TestGateway;
  let other: ScriptedProvider;
  let modern: Http2Server;
  let account: TestAccount;

  before(async () => {
    [other, modern] = await Promise.all([startProvider(), startHttp2Server()]);
    // The narrow providers share one server, `other`.
    const narrow = (name: string, queue: number, connections = 1): string =>
      `  ${name}: { protocol: chat, baseUrl: "${other.url}/v1", apiKey: narrow-secret-key-1, connections: ${connections}, queue: { length: ${queue} } }\n`;
    gateway = await startGateway({
      providers: [
        `  modern: { protocol: chat, baseUrl: "${modern.url}/v1", apiKey: modern-secret-key-1, ${modern.fields} }\n`,
        narrow('full', 0),
        narrow('queued', 1),
        narrow('shared', 8, 8),
        `  equipped:\n    protocol: chat\n    baseUrl: "${other.url}/v1"\n    apiKey: equipped-secret-1\n`,
        '    headers: { X-Title: shop, x-organization: org-A1b2C3d4E5f6G7h8, User-Agent: shop/1 }\n',
      ].join(''),
      models: [
        `  modern-chat: { operations: [chat], price: ${PRICE}, routes: [{ provider: modern, model: m }] }`,
        '  modern-painter: { operations: [images.edit], price: { perImage: "0.01" }, routes: [{ provider: modern, model: p }] }',
        `  full-chat: { operations: [chat], price: ${PRICE}, routes: [{ provider: full, model: m }] }`,
        `  full-pair: { operations: [chat], price: ${PRICE}, routes: [{ provider: full, model: m, priority: 0 }, { provider: chatty, model: m, priority: 1 }] }`,
        `  queued-chat: { operations: [chat], price: ${PRICE}, routes: [{ provider: queued, model: m }] }`,
        `  shared-chat: { operations: [chat], price: ${PRICE}, routes: [{ provider: shared, model: m }] }`,
        `  equipped-chat: { operations: [chat], price: ${PRICE}, routes: [{ provider: equipped, model: m }] }`,
      ].join('\n'),
    });
    account = await gateway.createAccount();
  });
  after(async () => {
    try {
      await gateway.stop();
    } finally {
      await Promise.all([other.close(), modern.close()]);
    }
  });

  const ask = (model: string, isStream = false) => call(gateway.url + CHAT, account.key, requestOf(isStream, model));

  /** The response to a chat call over HTTP/2. */
  function serveModern(stream: ServerHttp2Stream): void {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const isStream = JSON.parse(Buffer.concat(chunks).toString()).stream === true;
      stream.respond({ ':status': 200, 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      if (isStream) for (const event of chatStream(['Hello'])) stream.write(event);
      stream.end(isStream ? undefined : JSON.stringify(chatCompletion()));
    });
  }

  it('over HTTP/2 carry non-streaming responses and streams, charged as usual', async () => {
    modern.serve = serveModern;
    const payer = await gateway.createAccount();
    for (const isStream of [false, true]) {
      const response = await call(gateway.url + CHAT, payer.key, requestOf(isStream, 'modern-chat'));
      assert.equal(response.status, 200, response.text);
      assert.match(response.text, isStream ? /data: \[DONE\]\n\n$/ : /Hello there/);
      assert.deepEqual(
        [(await payer.lastCall()).status, (await payer.lastCall()).usage.source],
        ['succeeded', 'observed'],
      );
    }
    assert.equal(modern.sessions.length, 1);
  });

  it('over HTTP/2 carry uploads unchanged', async () => {
    const received: Buffer[] = [];
    modern.serve = (stream) => {
      stream.on('data', (chunk: Buffer) => received.push(chunk));
      stream.on('end', () => {
        stream.respond({ ':status': 200, 'content-type': 'application/json' });
        stream.end(JSON.stringify({ created: 1, data: [{ b64_json: 'AAAA' }] }));
      });
    };
    const image = Buffer.concat([png(), Buffer.alloc(3 * 2 ** 20, 7)]);
    const parts = [file('image', image), text('prompt', 'Add a boat')];
    const response = await call(
      `${gateway.url}/v1/images/edits`,
      account.key,
      editForm({ model: 'modern-painter' }, parts),
      {
        headers: { 'content-type': formType() },
      },
    );
    assert.equal(response.status, 200, response.text);
    assert.deepEqual(Buffer.concat(received), editForm({ model: 'p' }, parts));
  });

  it('over HTTP/2 do not accept or charge an incomplete non-streaming response', async () => {
    modern.serve = (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      stream.write(JSON.stringify(chatCompletion()), () => stream.session!.destroy());
    };
    const payer = await gateway.createAccount();
    const response = await call(gateway.url + CHAT, payer.key, requestOf(false, 'modern-chat'));
    assert.deepEqual([response.status, response.headers['x-should-retry']], [502, 'false']);
    assert.deepEqual(await payer.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
  });

  it("carry the operator's headers to their provider only, and responses do not reveal them", async () => {
    other.respond = json(400, { error: { message: 'No such project in org-A1b2C3d4E5f6G7h8, shop.' } });
    const response = await ask('equipped-chat');
    assert.equal(response.json.error.message, 'No such project in [provider], shop.');
    const { headers } = other.requests.at(-1)!;
    assert.deepEqual(
      [headers['x-title'], headers['x-organization'], headers['user-agent'], headers.authorization],
      ['shop', 'org-A1b2C3d4E5f6G7h8', 'shop/1', 'Bearer equipped-secret-1'],
    );
    assert.doesNotMatch(JSON.stringify((await gateway.admin('GET', '/routes')).body), /org-A1b2/);
    gateway.provider.respond = chatResponse();
    await ask('test-chat');
    assert.equal(gateway.provider.requests.at(-1)!.headers['x-title'], undefined);
  });

  /** Holds calls to the narrow providers until a test releases them. */
  function holding(): { readonly respond: Respond; release(): void } {
    const held: (() => void)[] = [];
    let isHolding = true;
    return {
      respond(request, response) {
        if (isHolding) held.push(() => void chatResponse()(request, response));
        else return chatResponse()(request, response);
      },
      release() {
        isHolding = false;
        for (const response of held) response();
      },
    };
  }

  it('are all in use: 502 with a retry time, nothing sent and nothing charged', async () => {
    const { respond, release } = holding();
    other.respond = respond;
    const before = other.requests.length;
    const first = startCall(gateway.url + CHAT, account.key, requestOf(false, 'full-chat'));
    await other.received(before + 1);
    const refused = await gateway.createAccount();
    for (const isStream of [false, true]) {
      const response = await call(gateway.url + CHAT, refused.key, requestOf(isStream, 'full-chat'));
      assert.equal(response.status, 502);
      assert.equal(response.json.error.code, 'upstream_error');
      assert.match(response.json.error.message, /^All connections to the provider are in use\./);
      assert.deepEqual([response.headers['retry-after'], response.headers['x-should-retry']], ['1', 'true']);
    }
    assert.deepEqual(await refused.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
    assert.equal(other.requests.length, before + 1);
    // Another route accepts the call.
    gateway.provider.respond = chatResponse();
    assert.equal((await ask('full-pair')).status, 200);
    assert.equal((await account.lastCall()).route.provider, 'chatty');
    release();
    assert.equal((await first.response).status, 200);
  });

  it('are not waited for by clients that have disconnected', async () => {
    const leaver = await gateway.createAccount();
    const begin = () => startCall(gateway.url + CHAT, leaver.key, requestOf(false, 'queued-chat'));
    const { respond, release } = holding();
    other.respond = respond;
    const before = other.requests.length;
    const first = begin();
    await other.received(before + 1);
    const responses: ServerResponse[] = [];
    const note = (_request: unknown, response: ServerResponse): void => void responses.push(response);
    gateway.gateway.app.server.on('request', note);
    const waiting = [begin(), begin()];
    // One is refused, so the other one waits.
    await Promise.race(waiting.map(({ response }) => response));
    gateway.gateway.app.server.off('request', note);
    const left = responses
      .filter(({ writableEnded }) => !writableEnded)
      .map((response) => new Promise((resolve) => response.once('close', resolve)));
    for (const { drop } of waiting) drop();
    await Promise.all(left);
    // The slot is free again: of two more calls, one waits and one is refused.
    const next = [begin().response, begin().response];
    await Promise.race(next);
    release();
    await leaver.endedCall(5);
    assert.equal((await first.response).status, 200);
    assert.deepEqual((await Promise.all(next)).map(({ status }) => status).toSorted(), [200, 502]);
    assert.equal(other.requests.length, before + 2);
  });

  it('are shared by accounts: others get connections immediately, and slots in the queue', async () => {
    const [greedy, modest] = [await gateway.createAccount({ balanceYuan: '1' }), await gateway.createAccount()];
    const begin = ({ key }: TestAccount) =>
      startCall(gateway.url + CHAT, key, requestOf(false, 'shared-chat')).response;
    const { respond, release } = holding();
    other.respond = respond;
    const before = other.requests.length;
    const senders = (): number => other.requests.slice(before).length;
    const many = Array.from({ length: 40 }, () => begin(greedy));
    // Seven of eight connections and of eight queue slots; further calls are refused.
    const refused = Promise.withResolvers<void>();
    let refusals = 0;
    for (const response of many) {
      void response.then(({ status }) => {
        if (status === 502 && ++refusals === 26) refused.resolve();
      });
    }
    await refused.promise;
    await other.received(before + 7);
    const first = begin(modest);
    await other.received(before + 8);
    const waiting = [begin(modest), begin(modest)];
    // One of these two waits in the last queue slot.
    assert.equal((await Promise.race(waiting)).status, 502);
    assert.equal(senders(), 8);
    release();
    assert.equal((await first).status, 200);
    assert.deepEqual((await Promise.all(waiting)).map(({ status }) => status).toSorted(), [200, 502]);
    const statuses = (await Promise.all(many)).map(({ status }) => status);
    assert.deepEqual(
      [200, 502].map((status) => statuses.filter((one) => one === status).length),
      [14, 26],
    );
    assert.equal(other.requests.length, before + 16);
  });
});
