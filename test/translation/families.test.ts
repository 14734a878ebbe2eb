import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import {
  assertError,
  assertFree,
  begunStream,
  TRANSLATED_MODELS,
  type TranslatedFamily,
  translatedFamilies,
} from '../support/families.ts';
import { assertSpent, clientLeaves, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, liveResponse, type Respond, sse } from '../support/provider.ts';

/** What each pair of protocols promises when providers lie or fail, clients leave, and calls are repeated. */

const breaksOff: Respond = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"id":"x"', () => response.socket!.resetAndDestroy());
};
const HOLOGRAM = [{ type: 'hologram' }];
const STRANGE = {
  chat: { choices: [{ index: 0, message: { content: HOLOGRAM }, finish_reason: 'stop' }] },
  messages: { content: HOLOGRAM },
};
const resets: Respond = (_request, response) => void response.socket!.resetAndDestroy();

for (const family of translatedFamilies) {
  describe(family.name, () => {
    let gateway: TestGateway;
    let account: TestAccount;
    before(async () => {
      gateway = await startGateway({ models: TRANSLATED_MODELS });
    });
    after(() => gateway.stop());

    const { provider, client, path, terminal } = family;
    async function send(
      respond: Respond,
      isStream: boolean,
      headers: Record<string, string> = {},
    ): Promise<ClientResponse> {
      gateway.provider.respond = respond;
      const response = await call(gateway.url + path, account.key, family.request(isStream), { headers });
      await response.ended();
      return response;
    }

    test('an answer has its text and its end, is charged by the usage of the provider, and is repeated for the same key', async () => {
      for (const isStream of [false, true]) {
        account = await gateway.createAccount();
        const respond = isStream ? sse(provider.stream(['Hello', ' there'])) : json(200, provider.whole());
        const key = { 'idempotency-key': `once-${isStream}` };
        const first = await send(respond, isStream, key);
        assert.equal(first.status, 200, first.text);
        assert.equal(textOf(family, first, isStream), 'Hello there');
        if (isStream) assert.equal(first.text.split(terminal).length, 2, first.text);
        await assertSpent(account, provider.cost);
        const { status, usage } = await account.endedCall();
        assert.deepEqual(
          [status, usage.source, usage.inputTokens, usage.outputTokens],
          ['succeeded', 'observed', 11, 7],
        );
        // The key has no effect on streams.
        if (isStream) continue;
        const again = await send(resets, isStream, key);
        assert.deepEqual([again.status, again.headers['x-faregate-repeated'], again.text], [200, 'true', first.text]);
        await assertSpent(account, provider.cost);
      }
    });

    test('a response that cannot be read or billed is a 502, is free, and is repeated for the same key', async () => {
      const whole = JSON.stringify(provider.whole());
      const unusable: Readonly<Record<string, Respond>> = {
        HTML: json(200, '<html>', { 'content-type': 'text/html' }),
        'no usage': json(200, provider.whole(null)),
        'half of it': json(200, whole.slice(0, -9)),
        'a 201': json(201, provider.whole()),
        'a broken connection': breaksOff,
        'a reset': resets,
        'content of no known type': json(200, { ...provider.whole(), ...STRANGE[provider.name] }),
      };
      for (const [what, respond] of Object.entries(unusable)) {
        account = await gateway.createAccount();
        const key = { 'idempotency-key': 'once' };
        const first = await send(respond, false, key);
        assert.equal(first.status, 502, `${what}: ${first.text}`);
        assertError(first, client, { status: 502, code: 'upstream_error', retry: 'false' });
        await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
        const again = await send(json(200, provider.whole()), false, key);
        assert.deepEqual([again.status, again.headers['x-faregate-repeated']], [502, 'true'], what);
      }
    });

    test('a refusal has the status and the words of the provider in the envelope of the client, and is free', async () => {
      for (const status of [400, 404, 413, 422, 429, 500, 503]) {
        account = await gateway.createAccount();
        const error = { type: 'some_error', message: 'No such luck.', param: 'messages[0]' };
        const response = await send(json(status, { type: 'error', error }), status % 2 === 0);
        assert.equal(response.status, status, response.text);
        assert.match(response.json.error.message, /No such luck/);
        assert.equal(response.json.error.param ?? null, null);
        assert.equal(response.json.type, client.name === 'messages' ? 'error' : undefined);
        await assertSpent(account, 0n);
      }
    });

    test('a stream that breaks ends with an error of the client, without its end, and what arrived is charged', async () => {
      const begun = begunStream(provider);
      const halfEvent = provider.stream(['Hello', 'never']).at(begun.length)!.slice(0, -20);
      const broken: Readonly<Record<string, readonly string[]>> = {
        'no end': begun,
        'half an event': [...begun, halfEvent],
        'an error event': [...begun, provider.errorEvent],
        'no JSON': [...begun, 'data: {"choices":[\n\n'],
        'an unfinished terminal event': provider
          .stream(['Hello'])
          .join('')
          .slice(0, -4)
          .split(/(?<=\n\n)/),
      };
      for (const [what, events] of Object.entries(broken)) {
        account = await gateway.createAccount();
        const response = await send(sse(events), true);
        assert.equal(response.status, 200, `${what}: ${response.text}`);
        assert.equal(textOf(family, response, true), 'Hello', what);
        assert.ok(!response.text.includes(terminal), `${what}: ${response.text}`);
        assert.match(response.text, /"error"/, what);
        if (what === 'an error event') assert.match(response.text, /Overloaded\./);
        assert.doesNotMatch(response.text, /never/);
        const { status, errorCode, usage } = await account.endedCall();
        assert.deepEqual([status, errorCode], ['aborted', 'upstream_error'], what);
        assert.ok(usage.outputTokens > 0, what);
      }
    });

    test('a stream without content before its error is an error response, and is free', async () => {
      for (const [events, expected] of [
        [[], 502],
        [[provider.errorEvent], 529],
      ] as const) {
        account = await gateway.createAccount();
        const response = await send(sse(events), true);
        assert.equal(response.status, expected, response.text);
        await assertSpent(account, 0n);
      }
    });

    test('a client that leaves pays what was delivered, and the provider is no longer read', async () => {
      account = await gateway.createAccount();
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + path, account.key, family.request(true));
      await live.opened;
      for (const event of begunStream(provider)) await live.write(event);
      const response = await started.response;
      await response.until('Hello');
      started.drop();
      await left;
      await live.closed;
      const { status, usage } = await account.endedCall();
      assert.deepEqual([status, usage.source], ['aborted', 'estimated']);
    });
  });
}

/** The text of an answer, as far as it arrived. */
function textOf({ path }: TranslatedFamily, response: ClientResponse, isStream: boolean): string {
  if (isStream) {
    const deltas =
      /"(?:type":"text_delta","text|delta":\{"content|output_index":0,"content_index":0,"delta)":"([^"]+)"/g;
    return [...response.text.matchAll(deltas)].map(([, delta]) => delta).join('');
  }
  const { json: body } = response;
  if (path.endsWith('/messages')) return body.content[0].text;
  return path.endsWith('/responses') ? body.output[0].content[0].text : body.choices[0].message.content;
}
