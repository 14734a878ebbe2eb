import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json, sse } from '../support/provider.ts';

/**
 * Requests whose cost does not show in their bytes, one for each kind of price and of demand. Each is sent thirty times at once with ¥1;
 * the reservations have to keep the account from owing more than one of these calls costs.
 */

const CALLS = 30;

const MODELS = `
  wide:
    contextLength: "200000"
    maxOutputTokens: "32000"
    operations: [chat, responses]
    price: { input: "10", output: "100" }
    routes: [{ provider: chatty, model: wide }]
  wide-messages:
    contextLength: "200000"
    maxOutputTokens: "32000"
    operations: [messages]
    price: { input: "10", output: "100" }
    routes: [{ provider: messy, model: wide }]
  boundless:
    operations: [chat]
    price: { input: "10", output: "100" }
    routes: [{ provider: chatty, model: boundless }]
  ranker:
    contextLength: "32000"
    operations: [rerank]
    price: { input: "1" }
    routes: [{ provider: chatty, model: ranker }]
  unit-ranker:
    operations: [rerank]
    price: { perSearchUnit: "0.02" }
    routes: [{ provider: chatty, model: unit-ranker }]
  embedder:
    contextLength: "8192"
    operations: [embeddings]
    price: { input: "5" }
    routes: [{ provider: chatty, model: embedder }]
`;

const messages = [{ role: 'user', content: 'Hello' }];
const picture = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } };
const usage = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
});

interface Attack {
  readonly what: string;
  readonly path: string;
  readonly body: object;
  readonly response: object;
  /** What the provider bills for one call, in nano-yuan, and the gateway charges. */
  readonly costNano: bigint;
}

const chat = (what: string, more: object, input: number, output: number): Attack => ({
  what,
  path: '/v1/chat/completions',
  body: { model: 'wide', messages, ...more },
  response: chatCompletion(usage(input, output)),
  costNano: BigInt(input) * 10_000n + BigInt(output) * 100_000n,
});

const rerank = (what: string, model: string, facts: object, costNano: bigint): Attack => ({
  what,
  path: '/v1/rerank',
  body: { model, query: 'q'.repeat(20_480), documents: Array.from({ length: 1_000 }, (_, n) => `document ${n}`) },
  response: { results: [{ index: 0, relevance_score: 1 }], ...facts },
  costNano,
});

const attacks: readonly Attack[] = [
  chat('a limit of zero, which relays drop', { max_tokens: 0 }, 10, 32_000),
  chat(
    'pictures by address',
    { max_tokens: 10, messages: [{ role: 'user', content: Array.from({ length: 20 }, () => picture) }] },
    20 * 3_000,
    10,
  ),
  {
    ...chat('files by address', {}, 0, 0),
    path: '/v1/messages',
    body: {
      model: 'wide-messages',
      max_tokens: 10,
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } }] },
      ],
    },
    response: { type: 'message', usage: { input_tokens: 48_000, output_tokens: 10 } },
    costNano: 48_000n * 10_000n + 10n * 100_000n,
  },
  rerank('a long query for many documents', 'ranker', { usage: { total_tokens: 5_130_000 } }, 5_130_000n * 1_000n),
  rerank(
    'many documents by units of search',
    'unit-ranker',
    { meta: { billed_units: { search_units: 10 } } },
    10n * 20_000_000n,
  ),
  {
    what: 'texts given as tokens',
    path: '/v1/embeddings',
    body: { model: 'embedder', input: Array.from({ length: 20 }, () => Array.from({ length: 4_000 }, () => 1)) },
    response: { object: 'list', data: [], usage: usage(80_000, 0) },
    costNano: 80_000n * 5_000n,
  },
];

const MOST = 2_147_483_647;

describe(`a provider that reports more than a model can use,`, { timeout: 60_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ models: MODELS });
  });
  after(() => g?.stop());

  const cases: readonly [what: string, model: string, reported: object, costNano: bigint, excess: object | null][] = [
    [
      'is charged up to the context and the output of the model',
      'wide',
      usage(MOST, MOST),
      200_000n * 10_000n + 32_000n * 100_000n,
      { inputTokens: MOST - 200_000, outputTokens: MOST - 32_000 },
    ],
    [
      'is charged up to ten million if the model has no limits',
      'boundless',
      usage(10, MOST),
      100_000n + 10_000_000n * 100_000n,
      { outputTokens: MOST - 10_000_000 },
    ],
    ['is paid in full within the limits', 'wide', usage(200_000, 32_000), 5_200_000_000n, null],
    [
      "is charged for what the provider's tools made the model read",
      'wide',
      { ...usage(600_000, 10), server_tool_use: { web_search_requests: 2 } },
      6_001_000_000n,
      null,
    ],
  ];
  for (const [what, model, reported, costNano, excess] of cases) {
    for (const isStream of [false, true]) {
      it(`${what}, ${isStream ? 'streamed' : 'not streamed'}`, async () => {
        const account = await g.createAccount({ balanceYuan: '2000' });
        const chunk = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] };
        g.provider.respond = isStream
          ? sse([
              `data: ${JSON.stringify(chunk)}\n\n`,
              `data: ${JSON.stringify({ choices: [], usage: reported })}\n\n`,
              'data: [DONE]\n\n',
            ])
          : json(200, { ...chatCompletion(), usage: reported });
        const body = { model, messages, stream: isStream };
        const response = await call(`${g.url}/v1/chat/completions`, account.key, body);
        assert.equal(response.status, 200, response.text);
        const record = await account.endedCall();
        const { balanceNano } = await account.money();
        assert.equal(2_000_000_000_000n - balanceNano, costNano);
        assert.deepEqual(record.excessUsage, excess);
        assert.deepEqual((await g.admin('GET', `/calls/${record.id}`)).body.excessUsage, excess);
      });
    }
  }
});

describe(`${CALLS} calls with ¥1`, { timeout: 240_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ models: MODELS });
  });
  after(() => g?.stop());

  for (const { what, path, body, response, costNano } of attacks) {
    it(`never owe more than one of them costs: ${what}`, async () => {
      const account = await g.createAccount({ balanceYuan: '1' });
      g.provider.respond = json(200, response);
      const before = g.provider.requests.length;
      const send = (): Promise<ClientResponse> => call(g.url + path, account.key, body);
      const responses = await Promise.all(Array.from({ length: CALLS }, send));
      const admitted = responses.filter(({ status }) => status === 200).length;
      assert.ok(admitted >= 1, responses[0]!.text);
      for (const { status, text } of responses) assert.ok(status === 200 || status === 402, text);
      assert.equal(g.provider.requests.length - before, admitted);
      const { balanceNano, heldNano } = await account.money();
      assert.equal(balanceNano, 1_000_000_000n - BigInt(admitted) * costNano);
      assert.equal(heldNano, 0n);
      // Each is admitted while something is left, so the last one may cost more than that.
      assert.ok(balanceNano > -costNano, `owes ${-balanceNano}`);
    });
  }
});
