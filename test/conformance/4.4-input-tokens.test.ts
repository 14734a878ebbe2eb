import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { type ClientResponse, call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { Address, assertRefused, badKey, invalid, type Refusal } from '../support/responses.ts';
import { languages } from '../support/texts.ts';
import { assertCounted, createSubscriber, plansText } from './plans.ts';
import { notTestable } from './rule.ts';

const PATH = '/v1/responses/input_tokens';
const CODING_PATH = '/v1/coding/responses/input_tokens';
const MODEL = 'test-responses';
/** The largest limit among the plans below applies. */
const CODING_BYTES_MAX = 4096;

const models = `
  test-dense:
    tokenFactor: 2.5
    operations: [responses]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: dense }]
`;
const plans = plansText({
  small: { inputByteLimit: '1KiB' },
  large: { inputByteLimit: '4KiB' },
  empty: { inputByteLimit: '1KiB', fiveHourCalls: 0 },
});

describe('4.4 POST /v1/responses/input_tokens', () => {
  let gateway: TestGateway;
  let estimates: Address;
  let coding: Address;
  /** Without money: estimates need none. */
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ models, plans });
    estimates = new Address(gateway, PATH);
    coding = new Address(gateway, CODING_PATH);
    account = await gateway.createAccount({ balanceYuan: '0' });
  });
  after(async () => {
    // No estimate in this file reached a provider or created a record.
    assert.equal(gateway.provider.requests.length, 0);
    assert.equal(await account.lastCall(), undefined);
    await gateway.stop();
  });

  async function estimate(rest: object, at: Address = estimates): Promise<number> {
    const response = await at.send(account, { model: MODEL, ...rest });
    assert.equal(response.status, 200, response.text);
    return tokensOf(response);
  }

  async function refuses(refusal: Refusal, ...members: readonly object[]): Promise<void> {
    for (const rest of members) {
      for (const at of [estimates, coding]) await at.refuses(account, { model: MODEL, ...rest }, refusal);
    }
  }
  const refusesFor = (param: string, ...members: readonly object[]) => refuses(invalid(param), ...members);

  async function takes(...members: readonly object[]): Promise<void> {
    for (const rest of members) {
      assert.equal(await estimate(rest), await estimate(rest, coding));
    }
  }

  function tokensOf(response: ClientResponse): number {
    const { object, input_tokens, ...others } = response.json;
    assert.deepEqual([object, others], ['response.input_tokens', {}]);
    assert.ok(Number.isSafeInteger(input_tokens) && input_tokens >= 0, response.text);
    return input_tokens;
  }

  describe('access', () => {
    it('4.4 the header Authorization: Bearer is required', async () => {
      for (const path of [PATH, CODING_PATH]) {
        assertRefused(await call(gateway.url + path, 'sk-wrong', { model: MODEL }), badKey);
        const response = await fetch(gateway.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-api-key': account.key },
          body: JSON.stringify({ model: MODEL }),
        });
        assert.equal(response.status, 401);
      }
    });

    it('4.4 the header Content-Type: application/json is required', async () => {
      for (const at of [estimates, coding]) {
        const response = await at.send(account, { model: MODEL }, { 'content-type': 'text/plain' });
        assertRefused(response, { status: 415, code: 'unsupported_media_type' });
      }
    });

    it('4.4 an account that is not verified is 401', async () => {
      const unverified = await gateway.createAccount({ verified: false });
      assertRefused(await estimates.send(unverified, { model: MODEL, input: 'x' }), badKey);
    });

    it('4.4 a failure of the gateway itself is 500 internal_error', async () => {
      const statuses = gateway.observed.statement('accounts.select-standings');
      for (const path of [PATH, CODING_PATH]) {
        // A key that was not used before is looked up in the database.
        const { key } = await gateway.createAccount({ balanceYuan: '0' });
        statuses.fail('before');
        const response = await call(gateway.url + path, key, { model: MODEL, input: 'Hello' });
        statuses.recover();
        assertRefused(response, { status: 500, code: 'internal_error', type: 'api_error' });
      }
    });

    it('4.4 neither a balance nor a plan is needed', () => takes({ input: 'Hello' }));

    it('4.4 an estimate makes no provider call, charges nothing and leaves no record', async () => {
      const payer = await gateway.createAccount();
      for (const at of [estimates, coding]) {
        assert.equal((await at.send(payer, { model: MODEL, input: 'Hello' })).status, 200);
      }
      assert.equal(gateway.provider.requests.length, 0);
      assert.deepEqual(await payer.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
      assert.equal(await payer.lastCall(), undefined);
    });
  });

  describe('response', () => {
    it('4.4 the response is an object of input_tokens and the object response.input_tokens', async () => {
      for (const at of [estimates, coding]) {
        const response = await at.send(account, { model: MODEL, input: 'Hello' });
        assert.equal(response.status, 200);
        assert.match(response.headers['content-type'] ?? '', /^application\/json\b/);
        assert.ok(tokensOf(response) > 0);
      }
    });

    it('4.4 the response has x-request-id and x-gateway-token-estimate', async () => {
      for (const at of [estimates, coding]) {
        const { headers } = await at.send(account, { model: MODEL, input: 'Hello' });
        assert.ok(headers['x-request-id']);
        assert.equal(headers['x-gateway-token-estimate'], 'o200k-heuristic-v2');
      }
    });

    it('4.4 the same body has the same estimate at both addresses, however often', async () => {
      const body = { input: [{ role: 'user', content: '数一数。' }], tools: [{ type: 'function', name: 'f' }] };
      const counts = await Promise.all(
        Array.from({ length: 6 }, (_, i) => estimate(body, i % 2 === 0 ? estimates : coding)),
      );
      assert.equal(new Set(counts).size, 1);
    });
  });

  describe('model', () => {
    it('4.4 model is required and a string', () =>
      refusesFor('model', { model: undefined }, { model: null }, { model: '' }, { model: 7 }));

    it('4.4 a model that does not exist or is not listed is 404 model_not_found', () =>
      refuses(
        { status: 404, code: 'model_not_found', param: 'model' },
        { model: 'nowhere' },
        { model: 'test-hidden' },
      ));

    it('4.4 an alias is the model', async () => {
      assert.equal(
        await estimate({ model: 'test-responses-latest', input: 'Hello' }),
        await estimate({ input: 'Hello' }),
      );
    });

    it('4.4 text is counted by the factor of the model', async () => {
      const input = languages[0]!.text;
      const [plain, dense] = [await estimate({ input }), await estimate({ input, model: 'test-dense' })];
      assert.ok(Math.abs(dense / plain - 2.5) < 0.01, `${dense} to ${plain}`);
    });
  });

  describe('rejections', () => {
    it('4.4 conversation is unsupported', () =>
      refusesFor('conversation', { conversation: { id: 'conv_1' } }, { conversation: 'conv_1' }, { conversation: {} }));

    it('4.4 previous_response_id is unsupported', () =>
      refusesFor('previous_response_id', { previous_response_id: 'resp_1' }, { input: 'x', previous_response_id: '' }));

    it('4.4 a remote prompt is unsupported', () => refusesFor('prompt', { prompt: { id: 'pmpt_1' } }, { prompt: {} }));

    it('4.4 an input item that is an item_reference is rejected', async () => {
      await refusesFor('input[0].type', { input: [{ type: 'item_reference', id: 'msg_1' }] });
      await refusesFor('input[1].type', { input: [{ role: 'user', content: 'x' }, { type: 'item_reference' }] });
    });

    it('4.4 a bare id is rejected', () => refusesFor('input[0].id', { input: [{ id: 'msg_1' }] }));

    it('4.4 an item with an id whose type is absent or null is rejected', () =>
      refusesFor(
        'input[0].id',
        { input: [{ id: 'msg_1', role: 'user', content: 'x' }] },
        { input: [{ id: 'msg_1', type: null, role: 'user', content: 'x' }] },
      ));

    it('4.4 an item with a type and an id is counted, and so is one with neither', () =>
      takes(
        { input: [{ type: 'message', id: 'msg_1', role: 'user', content: 'x' }] },
        { input: [{ role: 'user', content: 'x', id: null }] },
      ));

    it('4.4 file_id in content is rejected', async () => {
      const file = { type: 'input_file', file_id: 'file_1' };
      await refusesFor('input[0].content[0].file_id', { input: [{ role: 'user', content: [file] }] });
      await refusesFor('input[0].output[0].file_id', { input: [{ type: 'function_call_output', output: [file] }] });
      await refusesFor('input[0].file_id', { input: [file] });
    });

    for (const remote of ['server_url', 'connector_id', 'connector', 'tunnel_id', 'tunnel']) {
      it(`4.4 a tool of type mcp that discovers its schemas by ${remote} is rejected`, async () => {
        const tool = { type: 'mcp', server_label: 'x', [remote]: 'https://mcp.example' };
        await refusesFor(`tools[1].${remote}`, { tools: [{ type: 'function', name: 'f' }, tool] });
        await refusesFor(`input[0].tools[0].${remote}`, { input: [{ type: 'additional_tools', tools: [tool] }] });
      });
    }

    it('4.4 a tool of type mcp with schemas of its own is counted', () =>
      takes({ tools: [{ type: 'mcp', server_label: 'x', server_url: null, tools: [{ name: 'f' }] }] }));

    it('4.4 the body is one JSON object', async () => {
      for (const at of [estimates, coding]) {
        for (const body of ['', '[]', 'null', '"x"', `{"model":"${MODEL}"`]) {
          await at.refuses(account, body, invalid(null));
        }
      }
    });
  });

  describe('fields', () => {
    it('4.4 input is a string, an array of objects or null', async () => {
      await takes({}, { input: null }, { input: '' }, { input: [] }, { input: [{ role: 'user', content: 'x' }] });
      await refusesFor('input', { input: 7 }, { input: {} });
      await refusesFor('input[0]', { input: ['x'] }, { input: [null] });
    });

    it('4.4 item fields have the types that they have for compact', async () => {
      await refusesFor('input[0].role', { input: [{ role: 7 }] });
      await refusesFor('input[0].status', { input: [{ status: 'done' }] });
      await refusesFor('input[0].approve', { input: [{ approve: 'yes' }] });
      await refusesFor('input[0].content', { input: [{ content: 7 }] });
      await refusesFor('input[0].content[0].type', { input: [{ content: [{ text: 'x' }] }] });
      await refusesFor('input[0].content[0].detail', {
        input: [{ content: [{ type: 'input_image', detail: 'most' }] }],
      });
    });

    it('4.4 instructions alone are accepted', () => takes({ instructions: 'Be brief.' }));

    it('4.4 tools alone are accepted', () => takes({ tools: [{ type: 'function', name: 'f', parameters: {} }] }));

    it('4.4 instructions is a string and is counted', async () => {
      await refusesFor('instructions', { instructions: 7 }, { instructions: ['x'] });
      assert.ok((await estimate({ instructions: languages[0]!.text })) > 1_000);
    });

    it('4.4 reasoning is an object, and one that is not empty adds a fixed budget', async () => {
      await refusesFor('reasoning', { reasoning: 'high' }, { reasoning: [] });
      const [none, empty, low, high] = [
        await estimate({ input: 'x' }),
        await estimate({ input: 'x', reasoning: {} }),
        await estimate({ input: 'x', reasoning: { effort: 'low' } }),
        await estimate({ input: 'x', reasoning: { effort: 'high', summary: 'auto' } }),
      ];
      assert.equal(empty, none);
      assert.ok(low > none);
      assert.equal(high, low);
    });

    it('4.4 text is an object and is counted', async () => {
      await refusesFor('text', { text: 'plain' }, { text: [] });
      const schema = { type: 'object', properties: { city: { type: 'string', description: languages[0]!.text } } };
      const text = { format: { type: 'json_schema', name: 'x', schema } };
      assert.ok((await estimate({ input: 'x', text })) > (await estimate({ input: 'x' })) + 1_000);
    });

    it('4.4 tools is an array of objects or null, and each is counted', async () => {
      await refusesFor('tools', { tools: {} }, { tools: 'x' });
      await refusesFor('tools[0]', { tools: ['x'] }, { tools: [null] });
      await takes({ tools: null }, { tools: [] });
      const tool = { type: 'function', name: 'f', parameters: {} };
      const [none, one, two, three] = [
        await estimate({ tools: [] }),
        await estimate({ tools: [tool] }),
        await estimate({ tools: [tool, tool] }),
        await estimate({ tools: [tool, tool, tool] }),
      ];
      // The first tool adds the overhead of having tools.
      assert.ok(one - none > two - one && two > one);
      assert.ok(Math.abs(three - two - (two - one)) <= 1);
    });

    it('4.4 null is absent', async () => {
      const bare = await estimate({ input: 'Hello' });
      for (const name of [
        'instructions',
        'reasoning',
        'text',
        'tools',
        'conversation',
        'previous_response_id',
        'prompt',
      ]) {
        assert.equal(await estimate({ input: 'Hello', [name]: null }), bare, name);
      }
      assert.equal(await estimate({ input: null }), await estimate({}));
    });

    it('4.4 unknown optional fields count by their visible structure and text', async () => {
      const bare = await estimate({ input: 'x' });
      const [short, long] = [
        await estimate({ input: 'x', made_up: { note: 'short' } }),
        await estimate({ input: 'x', made_up: { note: languages[0]!.text } }),
      ];
      assert.ok(bare < short && short + 1_000 < long);
      const inItem = await estimate({ input: [{ role: 'user', content: 'x', made_up: languages[0]!.text }] });
      assert.ok(inItem > bare + 1_000);
    });

    it('4.4 fields that only steer the call count nothing', async () => {
      const bare = await estimate({ input: 'x' });
      const steering = { stream: true, store: false, temperature: 0.5, max_output_tokens: 9, metadata: { a: 'b' } };
      assert.equal(await estimate({ input: 'x', ...steering }), bare);
    });
  });

  describe('estimation', () => {
    for (const { language, text } of languages) {
      it(`4.4 plain text is within 10 % of its real tokens, and not below: ${language}`, async () => {
        const real = countTokens(text);
        assert.ok(real > 2_000, `${real} tokens are no long text`);
        for (const input of [text, [{ role: 'user', content: [{ type: 'input_text', text }] }]]) {
          const ratio = (await estimate({ input })) / real;
          // Includes a few tokens for the request around the text.
          assert.ok(ratio >= 1 && ratio <= 1.11, `${ratio} times`);
        }
      });
    }

    const imageOf = (detail: string | null, image_url: string) =>
      estimate({ input: [{ role: 'user', content: [{ type: 'input_image', detail, image_url }] }] });
    const fileOf = (file: object) =>
      estimate({ input: [{ role: 'user', content: [{ type: 'input_file', ...file }] }] });

    it('4.4 images have fixed budgets by detail, whatever their size and wherever they are', async () => {
      const small = 'data:image/png;base64,AAAA';
      const [low, auto, high, original] = [
        await imageOf('low', small),
        await imageOf('auto', small),
        await imageOf('high', small),
        await imageOf('original', small),
      ];
      assert.ok(low < auto && auto === high && high < original);
      assert.equal(await imageOf(null, small), auto);
      assert.equal(await imageOf('low', `data:image/png;base64,${'A'.repeat(400_000)}`), low);
      assert.equal(await imageOf('low', 'https://images.example/a.png'), low);
    });

    it('4.4 files have budgets that are tiered by size', async () => {
      const pdf = (kilobytes: number) =>
        fileOf({ file_data: `data:application/pdf;base64,${'A'.repeat(kilobytes * 1365)}` });
      const [page, sameTier, pages, book] = [await pdf(2), await pdf(20), await pdf(200), await pdf(1_500)];
      assert.equal(page, sameTier);
      assert.ok(page > 1_000 && page < pages && pages < book);
    });

    it('4.4 URLs are not fetched', async () => {
      const url = `${gateway.provider.url}/file.pdf`;
      assert.ok((await fileOf({ file_url: url })) > 1_000);
      await imageOf('auto', url);
      assert.equal(gateway.provider.requests.length, 0);
    });

    it('4.4 text/plain data is counted as visible text', async () => {
      const { text } = languages[0]!;
      const asText = await estimate({ input: [{ role: 'user', content: [{ type: 'input_text', text }] }] });
      const data = Buffer.from(text).toString('base64');
      for (const file_data of [`data:text/plain;base64,${data}`, `data:text/plain;charset=utf-8;base64,${data}`]) {
        assert.equal(await fileOf({ file_data }), asText);
      }
      assert.equal(await fileOf({ file_data: `data:text/plain,${encodeURIComponent(text)}` }), asText);
    });

    it('4.4 all base values are increased by 10 %, rounded up', async () => {
      // Overheads only: 6 for the body, 4 for the item, and those of the image.
      const [low, original] = [
        await imageOf('low', 'https://images.example/a.png'),
        await imageOf('original', 'https://images.example/a.png'),
      ];
      assert.equal(low, Math.ceil(((6 + 4 + 512) * 11) / 10));
      assert.equal(original, Math.ceil(((6 + 4 + 12_288) * 11) / 10));
    });

    it('4.4 text that looks like a special token is text', async () => {
      const count = await estimate({ input: '<|endoftext|><|im_start|>'.repeat(200) });
      assert.ok(count > 1_000);
    });

    it('4.4 a body of 3 MiB is estimated, of prose and of one letter', async () => {
      const { text } = languages[0]!;
      for (const input of [text.repeat(Math.ceil((3 * 2 ** 20) / text.length)), 'a'.repeat(3 * 2 ** 20)]) {
        assert.ok((await estimate({ input })) > 100_000);
      }
    });

    notTestable(
      '4.4 a large body does not hold up other calls',
      'which of two requests is done first is a matter of time, not of order; bodies are counted in threads of their own, which src/calls/request-workers.test.ts tests',
    );
    notTestable(
      '4.4 the accuracy of a single request is not guaranteed',
      'a rule that promises nothing cannot be broken',
    );
  });

  describe('Coding input length', () => {
    const bodyOf = (bytes: number): string => {
      const empty = JSON.stringify({ model: MODEL, input: '' });
      return JSON.stringify({ model: MODEL, input: 'x'.repeat(bytes - empty.length) });
    };

    it('4.4 the Coding address accepts an input up to the limit of the largest plan', async () => {
      assert.equal((await coding.send(account, bodyOf(CODING_BYTES_MAX))).status, 200);
    });

    it('4.4 the Coding address refuses one byte more with 413 package_input_too_large', async () => {
      const refusal = { status: 413, code: 'package_input_too_large' };
      const response = await coding.refuses(account, bodyOf(CODING_BYTES_MAX + 1), refusal);
      assert.equal(response.headers['x-should-retry'], 'false');
    });

    it('4.4 the Coding address reserves no plan and deducts no quota: it counts for a plan that is exhausted as for one that is not', async () => {
      for (const planId of ['small', 'empty']) {
        const subscriber = await createSubscriber(gateway, planId);
        const asked = gateway.provider.requests.length;
        for (let i = 0; i < 3; i++) assert.equal((await coding.send(subscriber, bodyOf(1_000))).status, 200);
        assert.equal(gateway.provider.requests.length, asked);
        await assertCounted(gateway, subscriber, { calls: 0, tokens: 0 });
        assert.equal(await subscriber.lastCall(), undefined);
      }
    });

    it('4.4 the general address has no such limit', async () => {
      assert.equal((await estimates.send(account, bodyOf(CODING_BYTES_MAX + 1))).status, 200);
    });
  });
});
