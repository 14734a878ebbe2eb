import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { families, type TranslatedFamily, translatedFamilies } from '../support/families.ts';
import {
  ADMIN_TOKEN,
  assertSpent,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { json, type Respond, type ScriptedProvider, sse, startProvider } from '../support/provider.ts';
import { responsesResponse } from '../support/responses.ts';
import { until } from '../support/until.ts';

/** `keepAlive`, `retry` and `fallbacks` of models whose routes translate, and of models between which a call moves. */

const COMMENT = ': keep-alive\n\n';
const NATIVE = 'chat, messages, responses';
const FALLBACK_ON = 'fallbackOn: [unavailable, context]';
const SERVED_NANO = costNano({ input: 11, output: 7 });

const model = (name: string, operations: string, routes: readonly string[], settings = ''): string => `
  ${name}: { operations: [${operations}], maxOutputTokens: "1000", price: ${PRICE}, routes: [${routes.join(', ')}], ${settings} }`;

/** The models for clients of providers of one protocol, from the names of both. */
function modelsOf(protocol: 'chat' | 'messages'): string {
  const operations = protocol === 'chat' ? 'messages, responses' : 'chat, responses';
  const translated = (provider: string): string =>
    `{ provider: ${provider}-${protocol}, model: ${provider}-model, translate: [${operations}] }`;
  const native = (provider: string): readonly string[] =>
    ['chat', 'messages'].map((each) => `{ provider: ${provider}-${each}, model: ${provider}-model }`);
  const to = (name: string): string => `fallbacks: [${name}-${protocol}], ${FALLBACK_ON}`;
  return [
    model(`alive-${protocol}`, operations, [translated('faulty')], 'keepAlive: { before: 20ms }'),
    model(`retry-${protocol}`, operations, [translated('faulty')], 'retry: { on: [500] }'),
    model(`over-${protocol}`, operations, [translated('backup')]),
    model(`back-${protocol}`, NATIVE, native('backup')),
    model(`to-over-${protocol}`, NATIVE, native('faulty'), to('over')),
    model(`alive-to-over-${protocol}`, NATIVE, native('faulty'), `keepAlive: { before: 20ms }, ${to('over')}`),
    model(`to-back-${protocol}`, operations, [translated('faulty')], to('back')),
  ].join('');
}

const succeed: Respond = (request, response) => {
  if (request.path.endsWith('/responses')) return responsesResponse()(request, response);
  const family = families.find(({ path }) => path.endsWith(request.path))!;
  const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean };
  return (stream ? sse(family.stream(['Hello'])) : json(200, family.whole()))(request, response);
};

const failing = (status: number, message = 'No.'): Respond => json(status, { error: { message } });

describe('settings of models over translated routes', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let faulty: ScriptedProvider;
  let backup: ScriptedProvider;
  let account: TestAccount;

  before(async () => {
    [faulty, backup] = [await startProvider(), await startProvider()];
    const provider = (name: string, url: string): string => `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKey: ${name}-secret-key-1 }
  ${name}-messages: { protocol: messages, baseUrl: "${url}", apiKey: ${name}-secret-key-2 }`;
    gateway = await startGateway({
      providers: provider('faulty', faulty.url) + provider('backup', backup.url),
      models: modelsOf('chat') + modelsOf('messages'),
    });
  });
  after(async () => {
    await gateway?.stop();
    await faulty?.close();
    await backup?.close();
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
    faulty.requests.length = 0;
    backup.requests.length = 0;
    faulty.respond = backup.respond = succeed;
  });

  const requestTo = (pair: TranslatedFamily, name: string, isStream: boolean): object => ({
    ...pair.request(isStream),
    model: `${name}-${pair.provider.name}`,
  });
  const send = (pair: TranslatedFamily, name: string, isStream = false): Promise<ClientResponse> =>
    call(gateway.url + pair.path, account.key, requestTo(pair, name, isStream));

  /** Starts a stream whose first provider responds once the client has got a comment. */
  async function openEarly(pair: TranslatedFamily, name: string, respond: Respond) {
    const opened = Promise.withResolvers<void>();
    faulty.respond = async (request, response) => {
      await opened.promise;
      return respond(request, response);
    };
    const body = requestTo(pair, name, true);
    const response = await startCall(gateway.url + pair.path, account.key, body).response;
    await response.until(COMMENT);
    opened.resolve();
    const isWhole = await response.ended();
    assert.equal(response.status, 200);
    // Which route serves the call was not known yet.
    for (const header of ['model', 'translated']) assert.equal(response.headers[`x-faregate-${header}`], undefined);
    return { response, isWhole, text: response.text.replaceAll(COMMENT, '') };
  }

  function assertComplete(pair: TranslatedFamily, { isWhole, text }: Awaited<ReturnType<typeof openEarly>>): void {
    assert.match(text, /Hello/);
    assert.ok(isWhole && text.includes(pair.terminal), text);
    assert.doesNotMatch(text, /event: error|"error":\{/);
  }

  for (const pair of translatedFamilies) {
    describe(pair.name, () => {
      it('keepAlive: a failure after an early opening is the error event of the client, with its status', async () => {
        const { response, isWhole, text } = await openEarly(pair, 'alive', failing(503, 'Busy.'));
        const isChat = pair.path === families[0]!.path;
        // Readers of chat streams notice an error only if the stream is cut.
        assert.equal(isWhole, !isChat);
        const [, data] = (isChat ? /^data: (.*)\n\n$/ : /^event: error\ndata: (.*)\n\n/).exec(text) ?? [];
        assert.ok(data !== undefined, text);
        const { error, ...own } = JSON.parse(data);
        assert.equal((error ?? own).message, 'Busy. (status 503)');
        assert.ok(!text.includes(pair.terminal), text);
        const { id, status, httpStatus } = await account.lastCall();
        assert.deepEqual([id, status, httpStatus], [response.headers['x-faregate-call-id'], 'failed', 200]);
        await assertSpent(account, 0n);
        const later = await openEarly(pair, 'alive', succeed);
        assertComplete(pair, later);
        await account.endedCall(2);
        await assertSpent(account, SERVED_NANO);
      });

      it('retry: a second attempt sends the same translation, and is charged once', async () => {
        for (const isStream of [false, true]) {
          faulty.requests.length = 0;
          faulty.respond = (request, response) =>
            (faulty.requests.length === 1 ? failing(500) : succeed)(request, response);
          const response = await send(pair, 'retry', isStream);
          assert.equal(response.status, 200, response.text);
          assert.equal(response.headers['x-faregate-translated'], pair.provider.name);
          assert.match(response.text, /Hello/);
          const [lost, served] = faulty.requests.map(({ path, body }) => `${path} ${body.toString()}`);
          assert.equal(lost, served);
          assert.equal(faulty.requests.length, 2);
          const { attempts } = await account.endedCall(isStream ? 2 : 1);
          assert.deepEqual(
            attempts.map(({ failure, isLost }: { failure: string | null; isLost: boolean }) => [failure, isLost]),
            [
              ['refused', true],
              [null, false],
            ],
          );
        }
        await assertSpent(account, 2n * SERVED_NANO);
      });

      it('fallbacks: a translated model serves for a native one', async () => {
        faulty.respond = failing(503);
        const name = `over-${pair.provider.name}`;
        const response = await send(pair, 'to-over');
        assert.equal(response.status, 200, response.text);
        assert.match(response.text, /Hello/);
        const shown = ['model', 'translated'].map((header) => response.headers[`x-faregate-${header}`]);
        assert.deepEqual(shown, [name, pair.provider.name]);
        assert.equal(backup.requests.at(-1)!.path, pair.provider.path);
        const asked = `to-${name}`;
        const record = await account.lastCall();
        assert.deepEqual([record.model, record.fallback], [name, { asked, reason: 'unavailable' }]);
        // Also after the stream was opened.
        const early = await openEarly(pair, 'alive-to-over', failing(503));
        assertComplete(pair, early);
        assert.equal((await account.endedCall(2)).model, name);
        await assertSpent(account, 2n * SERVED_NANO);
      });

      it('fallbacks: a native model serves for a translated one, and gets what the client wrote', async () => {
        const name = `back-${pair.provider.name}`;
        faulty.respond = failing(400, 'This prompt is too long.');
        for (const isStream of [false, true]) {
          const response = await send(pair, 'to-back', isStream);
          assert.equal(response.status, 200, response.text);
          assert.match(response.text, /Hello/);
          const shown = ['model', 'translated'].map((header) => response.headers[`x-faregate-${header}`]);
          assert.deepEqual(shown, [name, undefined]);
          const { path, body } = backup.requests.at(-1)!;
          assert.equal(path, pair.path);
          const { stream_options: _usage, ...sent } = JSON.parse(body.toString());
          assert.deepEqual(sent, { ...requestTo(pair, 'to-back', isStream), model: 'backup-model' });
          const record = await account.endedCall(isStream ? 2 : 1);
          assert.deepEqual([record.model, record.fallback.reason], [name, 'context']);
        }
        await assertSpent(account, 2n * SERVED_NANO);
      });

      it('fallbacks: if both fail, the client gets the failure of the requested model in its protocol', async () => {
        backup.respond = failing(400, 'Backup says no.');
        for (const asked of ['to-over', 'to-back']) {
          const first = { message: 'Too fast.', type: 'own_type', param: 'own_param', code: 'own_code' };
          faulty.respond = json(429, { error: first });
          const response = await send(pair, asked);
          assert.equal(response.status, 429, response.text);
          assert.equal(backup.requests.length, 1);
          backup.requests.length = 0;
          const { error } = response.json;
          assert.equal(error.message, 'Too fast.');
          // A translated request has other members, so they are not named.
          if (pair.client.name === 'chat') assert.equal(error.param, asked === 'to-over' ? 'own_param' : null);
        }
        await assertSpent(account, 0n);
      });
    });
  }

  it('the memory of all bodies is given back', async () => {
    await until(async () => {
      const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
      return /^faregate_body_memory_used_bytes 0$/m.test(await response.text());
    }, 'memory is not given back');
  });
});
