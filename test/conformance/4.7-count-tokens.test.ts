import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { type ClientResponse, call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { sendRaw } from '../support/raw.ts';
import { languages } from '../support/texts.ts';
import { assertCounted, createSubscriber, plansText } from './plans.ts';

const GENERAL = '/v1/messages/count_tokens';
const CODING = ['/altproto/v1/messages/count_tokens', '/v1/coding/altproto/messages/count_tokens'];
const ALL = [GENERAL, ...CODING];
const CODING_BYTES_MAX = 4096;
/** Not configured, and of an unknown family: its factor is 1. */
const MODEL = 'nobody-knows-this-one';

const models = `
  test-dense-messages:
    aliases: [dense-alias]
    tokenFactor: 2.5
    operations: [messages]
    price: { input: "3", output: "13" }
    routes: [{ provider: messy, model: dense }]
`;
const plans = plansText({ coding: { inputByteLimit: '4KiB' }, empty: { inputByteLimit: '1KiB', fiveHourCalls: 0 } });

interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly message?: RegExp;
}

const invalid = (message: RegExp): Refusal => ({
  status: 400,
  type: 'invalid_request_error',
  code: 'invalid_request_error',
  message,
});

/** Asserts the messages envelope (contract, section 7). */
function assertRefused(response: ClientResponse, { status, type, code, message = /./ }: Refusal): void {
  assert.equal(response.status, status, response.text);
  assert.match(response.json.error.message, message);
  assert.deepEqual(response.json, {
    type: 'error',
    error: { type, message: response.json.error.message, details: { error_code: code } },
    request_id: response.headers['request-id'],
  });
  assert.ok(response.headers['request-id']);
}

describe('4.7 count tokens', () => {
  let gateway: TestGateway;
  /** Without money: counts need none. */
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ models, plans });
    account = await gateway.createAccount({ balanceYuan: '0' });
  });
  after(async () => {
    // No count in this file reached a provider or created a record.
    assert.equal(gateway.provider.requests.length, 0);
    assert.equal(await account.lastCall(), undefined);
    await gateway.stop();
  });

  const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] });
  const send = (path: string, body: object | string, headers: Record<string, string> = {}): Promise<ClientResponse> =>
    call(gateway.url + path, account.key, body, { headers });

  async function count(body: object, path = GENERAL): Promise<number> {
    const response = await send(path, { model: MODEL, ...body });
    assert.equal(response.status, 200, response.text);
    const { input_tokens, ...others } = response.json;
    assert.deepEqual(others, {});
    assert.ok(Number.isSafeInteger(input_tokens) && input_tokens >= 0, response.text);
    return input_tokens;
  }

  async function refuses(refusal: Refusal, ...bodies: readonly (object | string)[]): Promise<void> {
    for (const body of bodies) {
      for (const path of ALL) {
        assertRefused(await send(path, typeof body === 'string' ? body : { model: MODEL, ...body }), refusal);
      }
    }
  }

  async function takes(...bodies: readonly object[]): Promise<void> {
    for (const body of bodies) {
      const counts = await Promise.all(ALL.map((path) => count(body, path)));
      assert.equal(new Set(counts).size, 1);
    }
  }

  describe('access', () => {
    for (const path of ALL) {
      it(`4.7 ${path} accepts x-api-key or Bearer`, async () => {
        const body = JSON.stringify({ model: MODEL, ...user('Hello') });
        const type = ['content-type', 'application/json'] as const;
        for (const credential of [
          ['x-api-key', account.key],
          ['authorization', `Bearer ${account.key}`],
        ] as const) {
          const response = await sendRaw(gateway.url, { path, headers: [credential, type], body });
          assert.equal(response.status, 200);
        }
        for (const headers of [[type], [['x-api-key', 'sk-wrong'] as const, type]]) {
          const response = await sendRaw(gateway.url, { path, headers, body });
          assert.equal(response.status, 401);
          assert.equal(JSON.parse(response.body.toString()).error.type, 'authentication_error');
        }
      });

      it(`4.7 ${path} accepts only POST, and only application/json`, async () => {
        const typed = await send(path, user('x'), { 'content-type': 'text/plain' });
        assertRefused(typed, { status: 415, type: 'invalid_request_error', code: 'unsupported_media_type' });
        const response = await fetch(gateway.url + path, { headers: { 'x-api-key': account.key } });
        assert.equal(response.status, 405);
        assert.equal(response.headers.get('allow'), 'POST');
      });
    }

    it('4.7 the header altproto-version is optional, and any version is accepted', async () => {
      for (const version of ['2023-06-01', '2026-10-21', 'x']) {
        assert.equal((await send(GENERAL, user('x'), { 'altproto-version': version })).status, 200);
      }
    });

    it('4.7 there is no provider call, no billing and no record, at any address', async () => {
      const payer = await gateway.createAccount();
      for (const path of ALL) {
        const response = await call(gateway.url + path, payer.key, { model: 'test-messages', ...user('Hello') });
        assert.equal(response.status, 200);
      }
      assert.equal(gateway.provider.requests.length, 0);
      assert.deepEqual(await payer.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
      assert.equal(await payer.lastCall(), undefined);
    });

    it('4.7 neither a balance nor an active plan is needed', () => takes(user('Hello')));
  });

  describe('response', () => {
    it('4.7 the response is an object of input_tokens', () => takes(user('Hello')));

    it('4.7 the response has x-gateway-token-estimate and its request ids', async () => {
      for (const path of ALL) {
        const { headers } = await send(path, user('Hello'));
        assert.equal(headers['x-gateway-token-estimate'], 'o200k-heuristic-v2');
        assert.ok(headers['request-id']);
        assert.equal(headers['x-request-id'], headers['request-id']);
      }
    });

    it('4.7 tokens of an unknown model are counted', () => takes({ model: 'nowhere', ...user('Hello') }));

    it('4.7 a model that is absent or null is counted', async () => {
      const named = await count(user('Hello'));
      assert.equal(await count({ model: undefined, ...user('Hello') }), named);
      assert.equal(await count({ model: null, ...user('Hello') }), named);
    });

    it('4.7 a model that is no string is 400', () => refuses(invalid(/"model"/), { model: 7, ...user('x') }));

    it('4.7 text is counted by the factor of the model, found by id or alias', async () => {
      const plain = await count(user(languages[0]!.text));
      for (const model of ['test-dense-messages', 'dense-alias']) {
        const dense = await count({ model, ...user(languages[0]!.text) });
        assert.ok(Math.abs(dense / plain - 2.5) < 0.01, `${dense} to ${plain}`);
      }
    });

    it('4.7 text is counted by the factor of the family that the name of a model tells', async () => {
      const plain = await count(user(languages[0]!.text));
      const family = await count({ model: 'claude-sonnet-4-5', ...user(languages[0]!.text) });
      assert.ok(Math.abs(family / plain - 1.2) < 0.01, `${family} to ${plain}`);
    });
  });

  describe('fields', () => {
    it('4.7 messages is required and an array', () =>
      refuses(invalid(/"messages"/), {}, { messages: null }, { messages: 'x' }, { messages: {} }));

    it('4.7 items of messages are objects', () =>
      refuses(invalid(/"messages\[0\]"/), { messages: ['x'] }, { messages: [null] }, { messages: [[]] }));

    it('4.7 items of messages hold a role', () =>
      refuses(
        invalid(/"messages\[1\]\.role"/),
        { messages: [{ role: 'user', content: 'x' }, { content: 'x' }] },
        {
          messages: [
            { role: 'user', content: 'x' },
            { role: 7, content: 'x' },
          ],
        },
        {
          messages: [
            { role: 'user', content: 'x' },
            { role: null, content: 'x' },
          ],
        },
      ));

    it('4.7 items of messages hold content, a string or an array', async () => {
      await refuses(
        invalid(/"messages\[0\]\.content"/),
        { messages: [{ role: 'user' }] },
        { messages: [{ role: 'user', content: null }] },
        { messages: [{ role: 'user', content: 7 }] },
        { messages: [{ role: 'user', content: { type: 'text', text: 'x' } }] },
      );
      await takes(user(''), user([]), user([{ type: 'text', text: 'x' }]), { messages: [] });
    });

    it('4.7 the same text is counted alike as a string and as a block', async () => {
      const { text } = languages[0]!;
      assert.equal(await count(user(text)), await count(user([{ type: 'text', text }])));
    });

    it('4.7 tools is an array or null', async () => {
      await takes({ ...user('x'), tools: null }, { ...user('x'), tools: [] });
      assert.equal(await count({ ...user('x'), tools: null }), await count(user('x')));
      await refuses(invalid(/"tools"/), { ...user('x'), tools: {} }, { ...user('x'), tools: 'x' });
    });

    it('4.7 tools use a fixed implicit budget once, and each one counts', async () => {
      const tool = { name: 'f', description: 'Says hello.', input_schema: { type: 'object' } };
      const [none, one, two, three] = [
        await count(user('x')),
        await count({ ...user('x'), tools: [tool] }),
        await count({ ...user('x'), tools: [tool, tool] }),
        await count({ ...user('x'), tools: [tool, tool, tool] }),
      ];
      assert.ok(one - none > 800 && two > one && two - one < 200);
      assert.ok(Math.abs(three - two - (two - one)) <= 1);
    });

    it('4.7 system is counted', async () => {
      const { text } = languages[0]!;
      for (const system of [text, [{ type: 'text', text }]]) {
        assert.ok((await count({ ...user('x'), system })) > (await count(user('x'))) + 1_000);
      }
    });

    it('4.7 a document of type text and media_type text/plain counts its data as visible text', async () => {
      const data = languages[0]!.text;
      const source = { type: 'text', media_type: 'text/plain', data };
      const [asDocument, asText] = [await count(user([{ type: 'document', source }])), await count(user(data))];
      assert.equal(asDocument, asText);
    });

    it('4.7 other documents and images count as placeholders, whatever they contain', async () => {
      const pdf = { type: 'base64', media_type: 'application/pdf', data: 'A'.repeat(4_000) };
      const document = await count(user([{ type: 'document', source: pdf }]));
      assert.equal(document, await count(user([{ type: 'document', source: { ...pdf, data: 'B'.repeat(8_000) } }])));
      assert.ok(document > 5_000);
      const image = await count(
        user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }]),
      );
      const url = `${gateway.provider.url}/a.png`;
      assert.equal(await count(user([{ type: 'image', source: { type: 'url', url } }])), image);
    });

    it('4.7 unknown optional fields count by their visible structure', async () => {
      const bare = await count(user('x'));
      const [short, long] = [
        await count({ ...user('x'), made_up: { note: 'short' } }),
        await count({ ...user('x'), made_up: { note: languages[0]!.text } }),
      ];
      assert.ok(bare < short && short + 1_000 < long);
      assert.equal(await count({ ...user('x'), made_up: null }), bare);
    });

    it('4.7 thinking that is on adds a fixed budget', async () => {
      const bare = await count(user('x'));
      assert.ok((await count({ ...user('x'), thinking: { type: 'enabled', budget_tokens: 1_024 } })) > bare);
      assert.equal(await count({ ...user('x'), thinking: { type: 'disabled' } }), bare);
    });

    it('4.7 the body is one JSON object', () => refuses(invalid(/body/), '', '[]', 'null', '"x"', '{"messages":[]'));

    it('4.7 a key that is read must not appear twice', () =>
      refuses(invalid(/more than once/), '{"messages":[],"messages":[]}', '{"model":"a","model":"b","messages":[]}'));
  });

  describe('accuracy', () => {
    for (const { language, text } of languages) {
      it(`4.7 plain text of a model of factor 1 is within 10 % of its o200k tokens, and not below: ${language}`, async () => {
        const ratio = (await count(user(text))) / countTokens(text);
        // Includes a few tokens for the request around the text.
        assert.ok(ratio >= 1 && ratio <= 1.11, `${ratio} times`);
      });
    }

    it('4.7 all base values are increased by 10 %, rounded up', async () => {
      // 6 for the body, 2 for the message, 1 for the text; the same, and 4,864 for an image.
      assert.equal(await count(user('x')), Math.ceil((9 * 11) / 10));
      const image = { type: 'image', source: { type: 'url', url: 'https://images.example/a.png' } };
      assert.equal(await count(user([{ type: 'text', text: 'x' }, image])), Math.ceil(((9 + 4_864) * 11) / 10));
    });
  });

  describe('Coding input byte limit', () => {
    const bodyOf = (bytes: number): string => {
      const empty = JSON.stringify({ model: MODEL, ...user('') });
      return JSON.stringify({ model: MODEL, ...user('x'.repeat(bytes - empty.length)) });
    };

    for (const path of [...CODING, '/altproto/coding/v1/messages/count_tokens']) {
      it(`4.7 ${path} accepts a body up to the limit and responds with 413 beyond it, with the message that the prompt is too long`, async () => {
        assert.equal((await send(path, bodyOf(CODING_BYTES_MAX))).status, 200);
        const response = await send(path, bodyOf(CODING_BYTES_MAX + 1));
        assertRefused(response, {
          status: 413,
          type: 'request_too_large',
          code: 'package_input_too_large',
          message: /prompt is too long/,
        });
        assert.equal(response.headers['x-error-code'], 'package_input_too_large');
        assert.equal(response.headers['x-should-retry'], 'false');
      });
    }

    it('4.7 the Coding addresses check no active plan, reserve none and deduct no balance', async () => {
      for (const planId of ['coding', 'empty']) {
        const subscriber = await createSubscriber(gateway, planId);
        const asked = gateway.provider.requests.length;
        for (const path of [...CODING, '/altproto/coding/v1/messages/count_tokens']) {
          const response = await call(gateway.url + path, subscriber.key, { model: MODEL, ...user('Hello') });
          assert.equal(response.status, 200, response.text);
        }
        assert.equal(gateway.provider.requests.length, asked);
        await assertCounted(gateway, subscriber, { calls: 0, tokens: 0 });
        assert.equal(await subscriber.lastCall(), undefined);
      }
    });

    it('4.7 the general address has no such limit', async () => {
      assert.equal((await send(GENERAL, bodyOf(CODING_BYTES_MAX + 1))).status, 200);
    });
  });

  it('4.7 a failure of the gateway itself is 500 api_error', async () => {
    const statuses = gateway.observed.statement('accounts.select-standings');
    for (const path of ALL) {
      // A key that was not used before is looked up in the database.
      const { key } = await gateway.createAccount({ balanceYuan: '0' });
      statuses.fail('before');
      const response = await call(gateway.url + path, key, { model: MODEL, ...user('Hello') });
      statuses.recover();
      assertRefused(response, { status: 500, type: 'api_error', code: 'internal_error' });
    }
  });
});
