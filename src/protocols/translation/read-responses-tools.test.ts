import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PLAIN_CHAT } from './dialect.ts';
import { translateRequest } from './translated-request.ts';

const target = { form: 'chat', dialect: PLAIN_CHAT, maker: 'AAAAAAAAAAA', outputTokensMax: null } as const;

function translated(request: object) {
  const body = Buffer.from(JSON.stringify({ model: 'm', ...request }));
  const { body: written, answer, leftOut } = translateRequest({ client: 'responses', body, model: 'm' }, target);
  const { tools = [], messages } = JSON.parse(Buffer.from(written).toString('utf8')) as {
    readonly tools?: readonly { readonly function: { readonly name: string; readonly description?: string } }[];
    readonly messages: readonly { readonly role: string }[];
  };
  return { tools, messages, answer, leftOut, names: tools.map(({ function: { name } }) => name) };
}

const tool = (name: string, description = 'd') => ({ type: 'function', name, description, parameters: {} });
const user = { type: 'message', role: 'user', content: 'a' };

// Codex declares the tools of its newest models in the input, and those that its search finds.
describe('tools that items of the input add', () => {
  it('are offered with those of the request, and have no message', () => {
    const exec = { type: 'custom', name: 'exec', description: 'runs', format: { type: 'text' } };
    const namespace = { type: 'namespace', name: 'functions', description: 'n', tools: [exec, tool('wait')] };
    const { names, messages, answer, leftOut } = translated({
      tools: [tool('read')],
      input: [
        { type: 'additional_tools', id: 'at_1', role: 'developer', tools: [namespace, { type: 'web_search' }] },
        { type: 'message', role: 'developer', content: 's' },
        user,
      ],
    });
    assert.deepEqual(names, ['read', 'functions__exec', 'functions__wait']);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['system', 'user'],
    );
    assert.deepEqual(answer.tools[1], { form: 'custom', name: 'exec', namespace: 'functions' });
    assert.deepEqual(leftOut, ['input[].tools[].description', 'input[].tools[](web_search)']);
  });

  it('are offered once a search found them, and its result names them', () => {
    const found = { type: 'namespace', name: 'mcp', tools: [tool('close')] };
    const { names, messages } = translated({
      tools: [{ type: 'tool_search', execution: 'client', description: 'd', parameters: {} }],
      input: [
        user,
        { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: { query: 'close' } },
        { type: 'tool_search_output', call_id: 'c', execution: 'client', tools: [found] },
        { type: 'function_call', call_id: 'd', name: 'close', namespace: 'mcp', arguments: '{}' },
        { type: 'function_call_output', call_id: 'd', output: 'closed' },
      ],
    });
    assert.deepEqual(names, ['tool_search', 'mcp__close']);
    assert.match(JSON.stringify(messages), /Tools available: .*close.*"name":"mcp__close"/);
  });

  it('replace earlier definitions of the same tools', () => {
    const { tools } = translated({
      tools: [tool('read', 'old')],
      input: [{ type: 'additional_tools', tools: [tool('read', 'new')] }, user],
    });
    assert.deepEqual(
      tools.map(({ function: { description } }) => description),
      ['new'],
    );
  });
});

describe('a message between agents', () => {
  const message = (payload: string) => ({
    type: 'agent_message',
    author: '/root',
    recipient: '/root/helper',
    content: [
      { type: 'input_text', text: 'Sender: /root\nPayload:\n' },
      { type: 'encrypted_content', encrypted_content: payload },
    ],
  });

  it('is a message of the user with all of its text', () => {
    const { messages, leftOut } = translated({ tools: [tool('read')], input: [message('Say hello.')] });
    assert.deepEqual(messages, [{ role: 'user', content: 'Sender: /root\nPayload:\nSay hello.' }]);
    assert.deepEqual(leftOut, []);
  });

  it('is refused if another provider encrypted it', () => {
    assert.throws(() => translated({ input: [message('gAAAAABpZ_secret')] }), /input\[0\]\.content\[1\]/);
  });
});
