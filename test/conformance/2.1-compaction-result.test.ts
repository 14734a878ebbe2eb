import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ClientResponse } from '../support/client.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import {
  Address,
  assertWithheld,
  compactionItem,
  compactionResult,
  type Overrides,
  RESPONSES_COST,
  responsesUsage,
  userMessage,
} from '../support/responses.ts';

const INT32_MAX = 2_147_483_647;

describe('2.1 compaction result', () => {
  let gateway: TestGateway;
  let compact: Address;
  before(async () => {
    gateway = await startGateway();
    compact = new Address(gateway, '/v1/responses/compact');
  });
  after(() => gateway.stop());

  async function responded(result: unknown): Promise<{ account: TestAccount; response: ClientResponse; text: string }> {
    const text = typeof result === 'string' ? result : JSON.stringify(result);
    gateway.provider.respond = json(200, text);
    const account = await gateway.createAccount();
    return { account, response: await compact.send(account, { model: 'test-responses', input: 'Hello' }), text };
  }

  async function relays(overrides: Overrides, cost = RESPONSES_COST): Promise<void> {
    const { account, response, text } = await responded(compactionResult(overrides));
    assert.equal(response.status, 200, `${text}: ${response.text}`);
    assert.equal(response.text, text);
    await assertSpent(account, cost);
  }

  async function withholds(...violations: readonly Overrides[]): Promise<void> {
    for (const overrides of violations) {
      const { account, response } = await responded(compactionResult(overrides));
      await assertWithheld(account, response);
    }
  }

  it('2.1 a result is delivered byte for byte and charged by its usage', async () => {
    const text = ` {"usage" : ${JSON.stringify(responsesUsage)},\r\n"x":1.50e1,"x":2,"object":"response.compaction","id":"resp_\\u0031",
      "created_at":1.79e9,"output":[${JSON.stringify(compactionItem)}]}\n`;
    const { account, response } = await responded(text);
    assert.equal(response.status, 200, response.text);
    assert.equal(response.text, text);
    await assertSpent(account, RESPONSES_COST);
  });

  it('2.1 created_at is a number of Unix seconds from 0 up', async () => {
    await relays({ created_at: 0 });
    await withholds({ created_at: undefined }, { created_at: null }, { created_at: -1 }, { created_at: '1790000000' });
  });

  it('2.1 id is a string', () => withholds({ id: undefined }, { id: null }, { id: 7 }, { id: '' }));

  it('2.1 object is always response.compaction', () =>
    withholds({ object: undefined }, { object: null }, { object: 'response' }, { object: ['response.compaction'] }));

  it('2.1 output may be one object, which is the compaction', async () => {
    await relays({ output: compactionItem });
    await withholds({ output: userMessage });
  });

  it('2.1 output has at least one item', () =>
    withholds({ output: [] }, { output: undefined }, { output: null }, { output: 'gAAAA' }, { output: [null] }));

  it('2.1 after all user messages there is exactly one compaction item', async () => {
    await relays({ output: [userMessage, userMessage, compactionItem] });
    await relays({ output: [compactionItem] });
    await withholds(
      { output: [userMessage] },
      { output: [compactionItem, userMessage] },
      { output: [userMessage, compactionItem, compactionItem] },
      { output: [compactionItem, userMessage, { ...compactionItem, id: 'cmp_2' }] },
    );
  });

  it('2.1 a compaction item has both id and encrypted_content', () =>
    withholds(
      { output: [{ ...compactionItem, id: undefined }] },
      { output: [{ ...compactionItem, id: null }] },
      { output: [{ ...compactionItem, id: 1 }] },
      { output: [{ ...compactionItem, encrypted_content: undefined }] },
      { output: [{ ...compactionItem, encrypted_content: null }] },
      { output: [{ ...compactionItem, encrypted_content: { text: 'x' } }] },
      { output: { ...compactionItem, encrypted_content: '' } },
    ));

  it('2.1 a compaction item has the type compaction', () =>
    withholds(
      { output: [{ ...compactionItem, type: undefined }] },
      { output: [{ ...compactionItem, type: 'compaction_summary' }] },
    ));

  it('2.1 created_by of a compaction item is optional and a string', async () => {
    await relays({ output: [{ ...compactionItem, created_by: 'model' }] });
    await withholds({ output: [{ ...compactionItem, created_by: 1 }] });
  });

  it('2.1 a message item is of the user', () =>
    withholds(
      { output: [{ ...userMessage, role: 'assistant' }, compactionItem] },
      { output: [{ ...userMessage, role: undefined }, compactionItem] },
    ));

  it('2.1 the content of a message item is a list of input_text blocks with text', async () => {
    const output = (content: unknown): Overrides => ({ output: [{ ...userMessage, content }, compactionItem] });
    await relays(
      output([
        { type: 'input_text', text: '' },
        { type: 'input_text', text: '你好' },
      ]),
    );
    await withholds(
      output(undefined),
      output('Hello'),
      output(['Hello']),
      output([{ type: 'output_text', text: 'Hello' }]),
      output([{ type: 'input_text' }]),
      output([{ type: 'input_text', text: 7 }]),
    );
  });

  it('2.1 the content of a message item may contain images and files of the user, which compact accepts', () =>
    relays({
      output: [
        { ...userMessage, content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] },
        { ...userMessage, content: [{ type: 'input_file', file_url: 'https://files.example/a.pdf' }] },
        compactionItem,
      ],
    }));

  it('2.1 the id of a message item is a string', () =>
    withholds({ output: [{ ...userMessage, id: 1 }, compactionItem] }));

  it('2.1 the status of a message item is in_progress, completed or incomplete', async () => {
    for (const status of ['in_progress', 'completed', 'incomplete']) {
      await relays({ output: [{ ...userMessage, status }, compactionItem] });
    }
    await withholds({ output: [{ ...userMessage, status: 'failed' }, compactionItem] });
  });

  it('2.1 a result without usage fails closed', () =>
    withholds({ usage: undefined }, { usage: null }, { usage: {} }, { usage: [responsesUsage] }, { usage: 18 }));

  for (const name of ['input_tokens', 'output_tokens', 'total_tokens']) {
    it(`2.1 ${name} is an int32 from 0 up, and not trusted otherwise`, async () => {
      for (const count of [undefined, null, -1, 0.5, '11', INT32_MAX + 1]) {
        await withholds({ usage: { ...responsesUsage, [name]: count } });
      }
    });
  }

  for (const [details, name] of [
    ['input_tokens_details', 'cache_write_tokens'],
    ['input_tokens_details', 'cached_tokens'],
    ['output_tokens_details', 'reasoning_tokens'],
  ] as const) {
    it(`2.1 ${details}.${name} is an int32 from 0 up, and not trusted otherwise`, async () => {
      for (const count of [-1, 0.5, '1', INT32_MAX + 1]) {
        await withholds({ usage: { ...responsesUsage, [details]: { ...responsesUsage[details], [name]: count } } });
      }
      await withholds({ usage: { ...responsesUsage, [details]: 'none' } });
    });
  }

  it('2.1 a usage of zero is implausible for a compaction, and not trusted', () =>
    withholds({ usage: { ...responsesUsage, input_tokens: 0, output_tokens: 0, total_tokens: 0 } }));

  it('2.1 the largest int32 is a count like others', async () => {
    const usage = { ...responsesUsage, total_tokens: INT32_MAX };
    // Output is at least the total minus input, and at most the model's maximum.
    await relays({ usage }, costNano({ input: responsesUsage.input_tokens, output: 100 }));
  });

  it('2.1 details are parts of the totals, and cached and written tokens have prices of their own', () =>
    relays(
      {
        usage: {
          input_tokens: 100,
          input_tokens_details: { cache_write_tokens: 5, cached_tokens: 60 },
          output_tokens: 40,
          output_tokens_details: { reasoning_tokens: 30 },
          total_tokens: 140,
        },
      },
      costNano({ input: 35, cached: 60, written: 5, output: 40 }),
    ));

  it('2.1 fields that are not declared may appear anywhere', () =>
    relays({
      image: { context_compression: 'auto' },
      output: [
        { ...userMessage, phase: null, content: [{ type: 'input_text', text: 'Hello', annotations: [] }] },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { ...compactionItem, more: { deep: [1] } },
      ],
      usage: {
        ...responsesUsage,
        extra_tokens: 'many',
        input_tokens_details: { cached_tokens: 0, audio_tokens: null },
      },
    }));

  it('2.1 invalid JSON, or JSON other than an object, is not a result', async () => {
    const whole = JSON.stringify(compactionResult());
    for (const text of ['', 'null', '[]', whole.slice(0, -1), `${whole}}`, '<html>502</html>']) {
      const { account, response } = await responded(text);
      await assertWithheld(account, response);
    }
  });
});
