import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json, message } from '../support/provider.ts';
import { responseObject } from '../support/responses.ts';

/** Unknown tools and tool members are sent only to providers that allow them. */

const hello = [{ role: 'user', content: 'x' }];

/** How each protocol is called, and where its error contains the field. */
const protocols = {
  chat: { path: '/v1/chat/completions', body: { model: 'test-chat', messages: hello } },
  messages: { path: '/v1/messages', body: { model: 'test-messages', max_tokens: 9, messages: hello } },
  responses: { path: '/v1/responses', body: { model: 'test-responses', input: 'x' } },
  compact: { path: '/v1/responses/compact', body: { model: 'test-responses', input: [] } },
} as const;

const X_SEARCH = { tools: [{ type: 'x_search' }] };
const NEW_MEMBER = { tools: [{ type: 'web_search', name: 'web_search', depth: 3 }] };

/** A request in each protocol, the name in its error, and the field that is blamed. */
const unlisted: readonly [protocol: keyof typeof protocols, more: object, name: string, param: string][] = [
  ...(Object.keys(protocols) as (keyof typeof protocols)[]).flatMap(
    (protocol): [keyof typeof protocols, object, string, string][] => [
      [protocol, X_SEARCH, 'tools.x_search', 'tools[0].type'],
      [protocol, NEW_MEMBER, 'tools.web_search.depth', 'tools[0].depth'],
      [protocol, { extra_body: X_SEARCH }, 'tools.x_search', 'extra_body.tools[0].type'],
    ],
  ),
  [
    'responses',
    { input: [{ type: 'additional_tools', role: 'developer', ...X_SEARCH }] },
    'tools.x_search',
    'input[0].tools[0].type',
  ],
  [
    'responses',
    { input: [{ type: 'tool_search_output', call_id: 'c', ...NEW_MEMBER }] },
    'tools.web_search.depth',
    'input[0].tools[0].depth',
  ],
  [
    'messages',
    {
      messages: [
        ...hello,
        {
          role: 'system',
          content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: X_SEARCH.tools[0] } }],
        },
      ],
    },
    'tools.x_search',
    'messages[1].content[0].tool.definition.type',
  ],
  [
    'messages',
    { mcp_servers: [{ type: 'url', name: 'x', url: 'http://10.1.2.3/' }] },
    'mcp_servers.url',
    'mcp_servers[0].url',
  ],
  [
    'responses',
    { tools: [{ type: 'mcp', server_label: 'x', server_url: 'http://vault.internal' }] },
    'tools.mcp.server_url',
    'tools[0].server_url',
  ],
];

const REFUSED = 400;

function respondsToAll(gateway: TestGateway): void {
  gateway.provider.respond = (request, response) => {
    const usage = { input_tokens: 11, output_tokens: 7 };
    const whole = request.path.endsWith('/chat/completions')
      ? chatCompletion({ prompt_tokens: 11, completion_tokens: 7 })
      : request.path.endsWith('/messages')
        ? message(usage)
        : responseObject();
    json(200, whole)(request, response);
  };
}

const ask = (gateway: TestGateway, account: TestAccount, protocol: keyof typeof protocols, more: object) =>
  call(`${gateway.url}${protocols[protocol].path}`, account.key, { ...protocols[protocol].body, ...more });

describe('unknown tools and tool members', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
    respondsToAll(gateway);
  });
  after(() => gateway.stop());

  for (const [protocol, more, name, param] of unlisted) {
    test(`are refused in ${protocol}, with the name and the setting that allows it: ${param}`, async () => {
      const account = await gateway.createAccount();
      const asked = gateway.provider.requests.length;
      const before = await account.money();
      const response = await ask(gateway, account, protocol, more);
      assert.equal(response.status, REFUSED, response.text);
      const { error } = response.json;
      assert.equal(error.type, 'invalid_request_error');
      assert.ok(error.message.includes(`allows: [${name}]`), error.message);
      assert.ok(error.message.includes('unknownTools: pass'), error.message);
      if (protocol !== 'messages') assert.equal(error.param, param);
      assert.equal(gateway.provider.requests.length, asked, 'the provider must not be asked');
      assert.deepEqual(await account.money(), before);
    });
  }

  test('do not include functions, custom tools and the content of their schemas', async () => {
    const account = await gateway.createAccount();
    const schema = { type: 'object', properties: { container_id: { type: 'string' }, tunnel_id: {} } };
    const requests: [keyof typeof protocols, object][] = [
      ['chat', { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] }],
      ['chat', { tools: [{ type: 'custom', custom: { name: 'f' } }] }],
      ['messages', { tools: [{ name: 'f', input_schema: schema, new_member: { x: 1 } }] }],
      ['responses', { tools: [{ type: 'function', name: 'f', parameters: schema, new_member: 1 }] }],
      ['responses', { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] }] }],
    ];
    for (const [protocol, more] of requests) {
      const response = await ask(gateway, account, protocol, more);
      assert.equal(response.status, 200, response.text);
    }
  });
});

for (const [providerFields, passes, refused] of [
  ['allows: [tools.x_search]', X_SEARCH, NEW_MEMBER],
  ['allows: [tools.web_search.depth]', NEW_MEMBER, X_SEARCH],
  ['allows: [tools.web_search]', NEW_MEMBER, X_SEARCH],
  ['allows: ["tools.x_*"]', X_SEARCH, NEW_MEMBER],
  ['unknownTools: pass', X_SEARCH, null],
] as const) {
  test(`are sent to a provider with "${providerFields}" only if it allows them`, async () => {
    await using gateway = await startGateway({ providerFields });
    respondsToAll(gateway);
    const account = await gateway.createAccount();
    for (const protocol of ['chat', 'responses'] as const) {
      assert.equal((await ask(gateway, account, protocol, passes)).status, 200);
      if (refused !== null) assert.equal((await ask(gateway, account, protocol, refused)).status, REFUSED);
      // References in such a tool must still belong to the account.
      const { type } = passes.tools[0]!;
      const foreign = { tools: [{ type, depth: 3, container_id: 'cntr_of_another' }] };
      const response = await ask(gateway, account, protocol, foreign);
      assert.ok([404, REFUSED].includes(response.status), response.text);
    }
  });
}
