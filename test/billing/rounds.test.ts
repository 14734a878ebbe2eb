import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseYuan } from '../../src/lib/yuan.ts';
import { call } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, chatStream, event, json, message, type Respond, sse } from '../support/provider.ts';

/**
 * Bounds of models whose limits are configured, as every imported model has them: a loop at the provider reads and writes in each of its
 * rounds, which is charged in full if anything in the response shows the rounds. What nothing explains is not charged, but recorded as
 * cost.
 */

const CONTEXT = 1_000;
const OUTPUT = 100;
const PRICE = `{ input: "1", output: "10", perWebSearch: "0", perWebFetch: "0", perCodeExecution: "0", perFileSearch: "0", perToolUse: "0", perContainer: "0" }`;
const COST = '{ input: "2", output: "20" }';
const model = (operation: string, provider: string): string => `
  small-${operation}:
    contextLength: "${CONTEXT}"
    maxOutputTokens: "${OUTPUT}"
    operations: [${operation}]
    price: ${PRICE}
    routes: [{ provider: ${provider}, model: small, cost: ${COST} }]`;
const MODELS = `${model('chat', 'chatty')}${model('responses', 'chatty')}${model('messages', 'messy')}
  units:
    operations: [rerank]
    price: { perSearchUnit: "0.000019" }
    routes: [{ provider: chatty, model: units }]
`;

/** Four runs of the model. */
const INPUT = 4 * CONTEXT;
const WRITTEN = 4 * OUTPUT;

interface Case {
  readonly what: string;
  readonly operation: 'chat' | 'messages' | 'responses';
  readonly request?: object;
  readonly respond: Respond;
}

const chatUsage = { prompt_tokens: INPUT, completion_tokens: WRITTEN, total_tokens: INPUT + WRITTEN };
const usage = { input_tokens: INPUT, output_tokens: WRITTEN };
const responsesUsage = { ...usage, total_tokens: INPUT + WRITTEN };

/** Chat, non-streaming and streamed. */
function ofChat(what: string, shown: { usage?: object; beside?: object; message?: object; request?: object }): Case[] {
  const used = { ...chatUsage, ...shown.usage };
  const { choices, ...rest } = chatCompletion(used);
  const [choice] = choices;
  const whole = {
    ...rest,
    choices: [{ ...choice, message: { ...choice!.message, ...shown.message } }],
    ...shown.beside,
  };
  const data = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;
  const delta = { choices: [{ index: 0, delta: shown.message ?? {}, finish_reason: null }] };
  const [done, ...chunks] = chatStream(['Hello'], null).toReversed();
  const last = { choices: [], usage: used, ...shown.beside };
  const events = [data(delta), ...chunks.toReversed(), data(last), done!];
  const request = shown.request ?? {};
  return [
    { what: `${what}, whole`, operation: 'chat', request, respond: json(200, whole) },
    { what: `${what}, streamed`, operation: 'chat', request: { ...request, stream: true }, respond: sse(events) },
  ];
}

function ofResponses(what: string, shown: { usage?: object; beside?: object; output?: readonly object[] }): Case[] {
  const response = {
    id: 'resp_rounds',
    object: 'response',
    status: 'completed',
    output: [...(shown.output ?? []), { type: 'message', id: 'msg_1', role: 'assistant', content: [] }],
    usage: { ...responsesUsage, ...shown.usage },
    ...shown.beside,
  };
  const request = { tools: [{ type: 'web_search' }] };
  const events = [
    event('response.created', { response: { ...response, usage: null } }),
    event('response.completed', { response }),
  ];
  return [
    { what: `${what}, whole`, operation: 'responses', request, respond: json(200, response) },
    { what: `${what}, streamed`, operation: 'responses', request: { ...request, stream: true }, respond: sse(events) },
  ];
}

function ofMessages(what: string, shown: { usage?: object; content?: readonly object[] }): Case[] {
  const used = { ...usage, ...shown.usage };
  const content = [...(shown.content ?? []), { type: 'text', text: 'Hello' }];
  const request = {
    tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
    mcp_servers: [{ type: 'url', url: 'https://mcp.example/', name: 'x' }],
  };
  const events = [
    event('message_start', {
      message: { ...message(null), content: [], usage: { input_tokens: INPUT, output_tokens: 0 } },
    }),
    ...content.flatMap((block, index) => [
      event('content_block_start', { index, content_block: block }),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: used }),
    event('message_stop'),
  ];
  return [
    { what: `${what}, whole`, operation: 'messages', request, respond: json(200, { ...message(used), content }) },
    { what: `${what}, streamed`, operation: 'messages', request: { ...request, stream: true }, respond: sse(events) },
  ];
}

const three = <Value>(make: (index: number) => Value): Value[] => [0, 1, 2].map(make);
const turn = { type: 'message', input_tokens: CONTEXT, output_tokens: OUTPUT };

const cases: readonly Case[] = [
  ...ofChat('counts of tools in usage.server_tool_use', { usage: { server_tool_use: { code_execution_requests: 3 } } }),
  ...ofChat('a number of tools that were used', { usage: { num_server_side_tools_used: 3 } }),
  ...ofChat('calls of tools by their names', { usage: { tool_calls_details: { fetch_url: { invocation: 3 } } } }),
  ...ofChat('turns that a relay lists', { usage: { iterations: three(() => turn).concat(turn) } }),
  ...ofChat('runs of models that Groq lists', {
    beside: { usage_breakdown: { models: three(() => ({ model: 'm' })) } },
  }),
  ...ofChat('uses that xAI counts beside the usage', {
    beside: { server_side_tool_usage: { SERVER_SIDE_TOOL_MCP: 3 } },
  }),
  ...ofChat('calls of MCP servers in the message', {
    request: { tools: [{ type: 'mcp', server_url: 'https://mcp.example/' }] },
    message: { tool_calls: three((index) => ({ index, id: `call_${index}`, type: 'mcp', function: { name: 'x' } })) },
  }),
  ...ofResponses('runs of code', {
    output: three((n) => ({ type: 'code_interpreter_call', id: `ci_${n}`, container_id: 'c' })),
  }),
  ...ofResponses('calls of MCP servers', { output: three((n) => ({ type: 'mcp_call', id: `mcp_${n}` })) }),
  ...ofResponses('items of another kind', { output: three((n) => ({ type: 'vendor:look_up', id: `x_${n}` })) }),
  ...ofResponses('searches that only the details count', {
    usage: { server_side_tool_usage_details: { x_search_calls: 3 } },
    output: three((n) => ({ type: 'custom_tool_call', id: `ctc_${n}`, name: 'x_keyword_search' })),
  }),
  ...ofResponses('searches in usage.x_tools', { usage: { x_tools: { web_search: { count: 3 } } } }),
  ...ofResponses('searches beside the usage', { beside: { tool_usage: { web_search: { num_requests: 3 } } } }),
  ...ofMessages('turns that iterations list', { usage: { iterations: [turn, turn, turn, turn] } }),
  ...ofMessages('runs of code', {
    content: three((n) => ({ type: 'server_tool_use', id: `srvtoolu_${n}`, name: 'bash_code_execution', input: {} })),
  }),
  ...ofMessages('calls of MCP servers', {
    content: three((n) => ({ type: 'mcp_tool_use', id: `mcptoolu_${n}`, name: 'echo', server_name: 'x', input: {} })),
  }),
  ...ofMessages('results of tools, beside a count of searches alone', {
    usage: { server_tool_use: { web_search_requests: 0 } },
    content: three((n) => ({ type: 'code_execution_tool_result', tool_use_id: `srvtoolu_${n}`, content: {} })),
  }),
];

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' };
const prompt = { role: 'user', content: 'Go on until it works.' };
const REQUESTS = {
  chat: { messages: [prompt] },
  messages: { max_tokens: OUTPUT, messages: [prompt] },
  responses: { input: 'Go on until it works.' },
};

describe(`rounds at the provider`, { timeout: 60_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ models: MODELS, providerFields: 'sharedState: pass' });
  });
  after(() => g?.stop());

  async function charged({ operation, request, respond }: Omit<Case, 'what'>) {
    const account = await g.createAccount();
    g.provider.respond = respond;
    const body = { model: `small-${operation}`, ...REQUESTS[operation], ...request };
    const { status, text } = await call(g.url + PATHS[operation], account.key, body);
    assert.equal(status, 200, text);
    const { chargeYuan, costYuan, excessUsage, unpriced, usage } = await account.endedCall();
    return { chargeNano: parseYuan(chargeYuan), costNano: parseYuan(costYuan), excessUsage, unpriced, usage };
  }

  for (const { what, ...each } of cases) {
    it(`are charged in full: ${each.operation}, ${what}`, async () => {
      const { chargeNano, excessUsage } = await charged(each);
      assert.deepEqual([excessUsage, chargeNano], [null, BigInt(INPUT * 1_000 + WRITTEN * 10_000)]);
    });
  }

  it('are not charged if nothing shows them, but recorded as cost', async () => {
    for (const each of [...ofChat('', {}), ...ofResponses('', {}), ...ofMessages('', {})]) {
      const { chargeNano, costNano, excessUsage } = await charged(each);
      assert.deepEqual(excessUsage, { inputTokens: 3 * CONTEXT, outputTokens: 3 * OUTPUT });
      assert.equal(chargeNano, BigInt(CONTEXT * 1_000 + OUTPUT * 10_000));
      assert.equal(costNano, BigInt(INPUT * 2_000 + WRITTEN * 20_000));
    }
  });

  it('write at most what the request allows, if only a total reports output', async () => {
    const read = { ...chatUsage, prompt_tokens: 200, completion_tokens: 20 };
    for (const total_tokens of [200 + 20 + 81, 2_000_000_000]) {
      for (const each of ofChat('', { usage: { ...read, total_tokens }, request: { max_tokens: OUTPUT } })) {
        const { chargeNano, costNano, unpriced, excessUsage } = await charged(each);
        assert.deepEqual([unpriced, excessUsage], [['usage.total_tokens'], null]);
        assert.deepEqual([chargeNano, costNano], [400_000n, 800_000n]);
      }
    }
  });

  it('are one if the totals have their names of the responses API', async () => {
    const named = {
      prompt_tokens: undefined,
      completion_tokens: undefined,
      input_tokens: 300,
      output_tokens: 20,
      total_tokens: 320,
    };
    for (const each of ofChat('', { usage: named })) {
      const { chargeNano, usage } = await charged(each);
      assert.deepEqual([usage.source, chargeNano], ['observed', 500_000n]);
    }
  });

  it('do not exist for a rerank, whose usage may contain search units', async () => {
    const account = await g.createAccount();
    g.provider.respond = json(200, { results: [], usage: { search_units: 1, total_tokens: 150, cost: 0.001 } });
    await call(`${g.url}/v1/rerank`, account.key, { model: 'units', query: 'x', documents: ['y'] });
    assert.equal((await account.endedCall()).chargeYuan, '0.000019');
  });
});
