import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertFree } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import {
  assertError,
  type DeadEnds,
  embeddingsAddress,
  rerankAddress,
  responseWell,
  send,
  startDeadEnds,
} from './calls.ts';
import { generalErrorRules, NOON } from './general-errors.ts';
import { notTestable } from './rule.ts';

const ODD_MEMBERS =
  ' "big" : 9223372036854775807 ,\r\n\t"precise":0.10,"twice":1,"twice":[ ],"escapes":"\\u0041\\/ 北京 😀" ';

/** The facts that each kind of rerank price needs: a search unit costs 19,000 nano-yuan, a call 17,000. */
const byUnits = 'test-rerank-units';
const byCalls = 'test-rerank-calls';

const results = [{ index: 1, relevance_score: 0.98, document: { text: 'Paris' } }];
const embedded = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: 'AACAPw==' }],
  model: 'embedder',
};

describe('4.2 embeddings and rerank', () => {
  const clock = createTestClock(NOON);
  let deadEnds: DeadEnds;
  let gateway: TestGateway;
  let account: TestAccount;
  let spentNano = 0n;

  before(async () => {
    deadEnds = await startDeadEnds();
    gateway = await startGateway({ clock, ...deadEnds.options });
    account = await gateway.createAccount();
  });
  // Records of calls at the same instant have no order.
  beforeEach(() => clock.advance(1));
  after(async () => {
    await gateway?.stop();
    await deadEnds?.silent.close();
  });

  /** Asserts the charges since the last call of this function. */
  async function assertPaid(costNano: bigint): Promise<void> {
    spentNano += costNano;
    await assertSpent(account, spentNano);
  }

  for (const address of [embeddingsAddress, rerankAddress]) {
    const { path } = address;
    const rest = address === embeddingsAddress ? '"data":[]' : '"results":[]';

    it(`4.2 ${path} passes the request body to the provider byte for byte, but for the name of the model`, async () => {
      const { model: _, ...fields } = address.fields;
      const body = (model: string) => `{${ODD_MEMBERS},"model" :"${model}" , ${JSON.stringify(fields).slice(1)}\n`;
      responseWell(gateway, address);
      const response = await call(gateway.url + path, account.key, body(address.model));
      assert.equal(response.status, 200, response.text);
      assert.equal(gateway.provider.requests.at(-1)!.path, address.upstreamPath);
      assert.equal(gateway.provider.requests.at(-1)!.body.toString(), body(address.upstreamModel));
      await assertPaid(address.costNano);
    });

    it(`4.2 ${path} passes the success body to the client byte for byte, with status 200 and as JSON`, async () => {
      const body = `\n{ ${ODD_MEMBERS}, ${rest} , "usage":{"prompt_tokens":5, "total_tokens":5,"x":1.0} , "id":null}  `;
      gateway.provider.respond = json(200, body, { 'content-type': 'application/json; charset=utf-8' });
      const response = await send(gateway, account, address);
      assert.equal(response.status, 200);
      assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
      assert.equal(response.text, body);
      await assertPaid(costNano({ input: 5 }));
    });

    it(`4.2 ${path} never streams: "stream" is one of the fields that pass through`, async () => {
      responseWell(gateway, address);
      const response = await send(gateway, account, address, { stream: true });
      assert.equal(response.headers['content-type'], 'application/json');
      assert.deepEqual(response.json, address.response);
      const sent = gateway.provider.requests.at(-1)!;
      assert.equal(sent.headers.accept, 'application/json');
      assert.equal(JSON.parse(sent.body.toString()).stream, true);
      await assertPaid(address.costNano);
    });

    it(`4.2 ${path} responds with 502 if the provider responds with a stream, and nothing is charged`, async () => {
      const other = await gateway.createAccount();
      gateway.provider.respond = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end('data: {"usage":{"prompt_tokens":5,"total_tokens":5}}\n\ndata: [DONE]\n\n');
      };
      const response = await send(gateway, other, address, { stream: true });
      const expected = { status: 502, code: 'upstream_error', type: 'api_error', retry: 'false' } as const;
      assertError(response, 'chat', expected);
      await assertFree(other, { httpStatus: 502, errorCode: 'upstream_error' });
    });

    for (const { rule, show } of generalErrorRules) {
      it(`4.2 ${path} responds with ${rule}`, () => show(gateway, address, deadEnds.silent));
    }
  }

  for (const [what, input] of [
    ['a text', 'Zürich'],
    ['an empty text', ''],
    ['several texts', ['Zürich', '北京']],
    ['tokens', [1, 2, 3]],
    ['several lists of tokens', [[1], [2, 3]]],
    ['parts of several kinds', [{ type: 'text', text: 'Zürich' }]],
  ] as const) {
    it(`4.2 the input of embeddings may be ${what}`, async () => {
      responseWell(gateway, embeddingsAddress);
      assert.equal((await send(gateway, account, embeddingsAddress, { input })).status, 200);
      assert.deepEqual(JSON.parse(gateway.provider.requests.at(-1)!.body.toString()).input, input);
      await assertPaid(embeddingsAddress.costNano);
    });
  }

  it('4.2 the format in which a client wants embeddings is neither changed nor added', async () => {
    for (const encoding_format of ['base64', 'float', undefined]) {
      responseWell(gateway, embeddingsAddress);
      assert.equal((await send(gateway, account, embeddingsAddress, { encoding_format, dimensions: 8 })).status, 200);
      const sent = JSON.parse(gateway.provider.requests.at(-1)!.body.toString());
      assert.deepEqual([sent.encoding_format, sent.dimensions], [encoding_format, 8]);
      await assertPaid(embeddingsAddress.costNano);
    }
  });

  for (const [what, facts, input] of [
    ['usage.prompt_tokens and usage.total_tokens', { usage: { prompt_tokens: 9, total_tokens: 9 } }, 9],
    ['usage.prompt_tokens alone', { usage: { prompt_tokens: 10 } }, 10],
    ['usage.total_tokens alone', { usage: { total_tokens: 11 } }, 11],
    ['meta.billed_units.input_tokens', { meta: { billed_units: { input_tokens: 12 } } }, 12],
    ['meta.tokens.input_tokens', { meta: { tokens: { input_tokens: 13 } } }, 13],
    ['tokens.input_tokens', { tokens: { input_tokens: 14, output_tokens: 0 } }, 14],
  ] as const) {
    it(`4.2 embeddings are charged by ${what}`, async () => {
      const response = { ...embedded, ...facts };
      gateway.provider.respond = json(200, response);
      assert.deepEqual((await send(gateway, account, embeddingsAddress)).json, response);
      await assertPaid(costNano({ input }));
      const { usage, operation } = await account.lastCall();
      assert.deepEqual([operation, usage.source, usage.inputTokens], ['embeddings', 'observed', input]);
    });
  }

  it('4.2 the query of a rerank may be a text or an object, its documents texts or objects', async () => {
    for (const fields of [
      { query: 'q', documents: ['one', 'two'] },
      { query: { text: 'q' }, documents: [{ text: 'one' }, { image: 'data:,' }] },
      { query: '', documents: [] },
    ]) {
      responseWell(gateway, rerankAddress);
      assert.equal((await send(gateway, account, rerankAddress, fields)).status, 200);
      const { query, documents } = JSON.parse(gateway.provider.requests.at(-1)!.body.toString());
      assert.deepEqual({ query, documents }, fields);
      await assertPaid(rerankAddress.costNano);
    }
  });

  it('4.2 a rerank without its query, or whose documents are no array, is 400 invalid_request_error', async () => {
    const other = await gateway.createAccount();
    const calls = gateway.provider.requests.length;
    for (const [param, value] of [
      ['query', undefined],
      ['query', ['q']],
      ['documents', 'one'],
      ['documents', {}],
    ] as const) {
      assertError(await send(gateway, other, rerankAddress, { [param]: value }), 'chat', {
        status: 400,
        code: 'invalid_request_error',
        type: 'invalid_request_error',
        param,
        retry: 'false',
      });
    }
    assert.equal(gateway.provider.requests.length, calls);
    await assertSpent(other, 0n);
  });

  for (const [what, facts, input] of [
    ['usage.total_tokens', { usage: { total_tokens: 20 } }, 20],
    ['usage.total_tokens before usage.prompt_tokens', { usage: { total_tokens: 21, prompt_tokens: 20 } }, 21],
    ['usage.prompt_tokens', { usage: { prompt_tokens: 22 } }, 22],
    ['meta.billed_units.total_tokens', { meta: { billed_units: { total_tokens: 23, search_units: 1 } } }, 23],
    ['the sum of meta.tokens', { meta: { tokens: { input_tokens: 20, output_tokens: 4 } } }, 24],
    ['meta.tokens.input_tokens', { meta: { tokens: { input_tokens: 25, output_tokens: null } } }, 25],
    ['the sum of tokens', { tokens: { input_tokens: 20, output_tokens: 6 } }, 26],
    ['tokens.input_tokens', { tokens: { input_tokens: 27 } }, 27],
    [
      'a usage that stands beside empty ones',
      { usage: null, meta: { billed_units: {} }, tokens: { input_tokens: 28 } },
      28,
    ],
  ] as const) {
    it(`4.2 a rerank at a price of tokens is charged by ${what}`, async () => {
      const response = { id: 'rr_1', results, ...facts };
      gateway.provider.respond = json(200, response);
      assert.deepEqual((await send(gateway, account, rerankAddress)).json, response);
      await assertPaid(costNano({ input }));
      const { usage, operation } = await account.lastCall();
      assert.deepEqual([operation, usage.source, usage.inputTokens], ['rerank', 'observed', input]);
    });
  }

  for (const path of ['/v2/rerank', '/v1/v2/rerank']) {
    it(`4.2 ${path} accepts the requests of Cohere's clients, and returns the responses that they read`, async () => {
      const fields = { top_n: 1, max_tokens_per_doc: 512, priority: 3 };
      const response = {
        id: '07734bd2-2473-4f07-94e1-0d9f0e6843cf',
        results: [{ index: 1, relevance_score: 0.999071 }],
        meta: { api_version: { version: '2', is_experimental: false }, billed_units: { search_units: 1 } },
      };
      gateway.provider.respond = json(200, response);
      const address = { ...rerankAddress, path };
      const sent = await send(gateway, account, address, { model: byUnits, ...fields });
      assert.deepEqual([sent.status, sent.json], [200, response]);
      const { path: upstreamPath, body } = gateway.provider.requests.at(-1)!;
      assert.equal(upstreamPath, rerankAddress.upstreamPath);
      assert.deepEqual(JSON.parse(body.toString()), {
        ...rerankAddress.fields,
        ...fields,
        model: JSON.parse(body.toString()).model,
      });
      await assertPaid(19_000n);
    });
  }

  it("4.2 /v2/rerank responds errors, the provider's too, in the form of Cohere's clients", async () => {
    const address = { ...rerankAddress, path: '/v2/rerank' };
    const malformed = await send(gateway, account, address, { documents: 'Paris' });
    const { id, message, ...rest } = malformed.json;
    assert.deepEqual([malformed.status, id, rest], [400, malformed.headers['request-id'], {}]);
    assert.match(message, /documents/);
    gateway.provider.respond = json(422, { id: 'theirs', message: 'too many documents' });
    const refused = await send(gateway, account, address);
    assert.deepEqual([refused.status, refused.json.message], [422, 'too many documents']);
  });

  it('4.2 a rerank with its results in "data" is valid too', async () => {
    const response = { object: 'list', data: results, model: 'reranker', usage: { total_tokens: 29 } };
    gateway.provider.respond = json(200, response);
    assert.deepEqual((await send(gateway, account, rerankAddress)).json, response);
    await assertPaid(costNano({ input: 29 }));
  });

  // A search unit per hundred documents, rounded up.
  for (const [units, count, facts] of [
    [1, 2, { meta: { billed_units: { search_units: 1 } } }],
    [
      3,
      201,
      { meta: { billed_units: { search_units: 3 }, tokens: { input_tokens: 900 } }, usage: { total_tokens: 900 } },
    ],
  ] as const) {
    it(`4.2 a rerank at a price of search units is charged for ${units}, whatever its tokens are`, async () => {
      gateway.provider.respond = json(200, { results, ...facts });
      const documents = Array.from({ length: count }, (_, i) => `City ${i}`);
      assert.equal((await send(gateway, account, rerankAddress, { model: byUnits, documents })).status, 200);
      await assertPaid(19_000n * BigInt(units));
    });
  }

  for (const [what, facts] of [
    ['no usage', {}],
    ['tokens', { usage: { total_tokens: 900 } }],
    ['search units', { meta: { billed_units: { search_units: 5 } } }],
  ] as const) {
    it(`4.2 a rerank at a price of calls is charged once if the provider reports ${what}`, async () => {
      gateway.provider.respond = json(200, { results, ...facts });
      assert.equal((await send(gateway, account, rerankAddress, { model: byCalls })).status, 200);
      await assertPaid(17_000n);
    });
  }

  for (const [what, address, fields, response] of [
    ['a response of embeddings without usage', embeddingsAddress, {}, embedded],
    ['a response of embeddings with an empty usage', embeddingsAddress, {}, { ...embedded, usage: {} }],
    [
      'a response of embeddings with a negative usage',
      embeddingsAddress,
      {},
      { ...embedded, usage: { prompt_tokens: -1 } },
    ],
    [
      'a response of embeddings with half a token',
      embeddingsAddress,
      {},
      { ...embedded, usage: { prompt_tokens: 0.5 } },
    ],
    [
      'a response of embeddings whose usage is a word',
      embeddingsAddress,
      {},
      { ...embedded, usage: { prompt_tokens: 'nine' } },
    ],
    [
      'a response of embeddings beyond 2^31 tokens',
      embeddingsAddress,
      {},
      { ...embedded, usage: { prompt_tokens: 2 ** 31 } },
    ],
    ['an error that comes with status 200', embeddingsAddress, {}, { error: { message: 'No.', type: 'server_error' } }],
    ['a rerank without usage', rerankAddress, {}, { results }],
    [
      'a rerank by tokens with search units alone',
      rerankAddress,
      {},
      { results, meta: { billed_units: { search_units: 1 } } },
    ],
    ['a rerank without results', rerankAddress, {}, { usage: { total_tokens: 9 } }],
    ['a rerank by units with tokens alone', rerankAddress, { model: byUnits }, { results, usage: { total_tokens: 9 } }],
    ['a rerank by calls without results', rerankAddress, { model: byCalls }, { error: { message: 'No.' } }],
  ] as const) {
    it(`4.2 ${what} is 502 upstream_error, and nothing is charged`, async () => {
      const other = await gateway.createAccount();
      gateway.provider.respond = json(200, response);
      assertError(await send(gateway, other, address, fields), 'chat', {
        status: 502,
        code: 'upstream_error',
        type: 'api_error',
        retry: 'false',
      });
      await assertFree(other, { httpStatus: 502, errorCode: 'upstream_error' });
    });
  }

  it('4.2 a body beyond the Coding input limit is no 413 here, where that limit does not hold', async () => {
    responseWell(gateway, embeddingsAddress);
    const response = await send(gateway, account, embeddingsAddress, { input: 'x'.repeat(5 * 2 ** 20) });
    assert.equal(response.status, 200);
    await assertPaid(embeddingsAddress.costNano);
  });

  notTestable(
    '4.2 fields of embeddings and rerank other than model, input, query and documents',
    'the contract does not show them; they pass through to the provider byte for byte',
  );
});
