import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PLAIN_CHAT, PLAIN_MESSAGES } from './dialect.ts';
import { type ClientFormName, translatedTo } from './pairs.ts';
import { type TranslationTarget, translateRequest } from './translated-request.ts';

/** Kinds of blocks and tools that few requests have. Each of their texts contains a canary, which arrives. */

const TARGETS: Readonly<Record<'chat' | 'messages', TranslationTarget>> = {
  chat: { form: 'chat', dialect: PLAIN_CHAT, maker: 'AAAAAAAAAAA', outputTokensMax: 100 },
  messages: { form: 'messages', dialect: PLAIN_MESSAGES, maker: 'AAAAAAAAAAA', outputTokensMax: 100 },
};

const text = (words: string): object => ({ type: 'text', text: words });
const function_ = (name: string, words: string): object => ({ type: 'function', name, description: words });
const grammar = { type: 'grammar', syntax: 'lark', definition: 'c90c' };

const REQUESTS: Readonly<Record<ClientFormName, object>> = {
  messages: {
    model: 'm',
    max_tokens: 9,
    system: 'c0c',
    tools: [{ name: 'read', description: 'c1c', input_schema: { properties: { c2c: { description: 'c3c' } } } }],
    messages: [
      { role: 'system', content: [text('c4c')] },
      {
        role: 'user',
        content: [
          {
            type: 'document',
            title: 'c5c',
            context: 'c6c',
            source: { type: 'text', media_type: 'text/plain', data: 'c7c' },
          },
          { type: 'document', title: 'c8c', context: 'c9c', source: { type: 'content', content: [text('c10c')] } },
          { type: 'document', source: { type: 'content', content: 'c11c' } },
          {
            type: 'document',
            title: 'c12c',
            context: 'c13c',
            source: { type: 'base64', media_type: 'application/pdf', data: 'c14c' },
          },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'c15c' } },
          { type: 'image', source: { type: 'url', url: 'https://c16c.example/' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'c17c' } },
          { type: 'web_search_tool_result', tool_use_id: 's', content: [{ title: 'c18c' }] },
          { type: 'tool_use', id: 't', name: 'read', input: { c19c: ['c20c'] } },
          { type: 'tool_use', id: 'u', name: 'c21c', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'u', is_error: true, content: 'c22c' },
          {
            type: 'tool_result',
            tool_use_id: 't',
            content: [
              text('c23c'),
              { type: 'tool_reference', tool_name: 'c24c' },
              { type: 'image', source: { type: 'url', url: 'https://c25c.example/' } },
              { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'c26c' } },
            ],
          },
          text('c27c'),
        ],
      },
    ],
  },
  chat: {
    model: 'm',
    tools: [
      { type: 'custom', custom: { name: 'patch', description: 'c0c', format: grammar } },
      { type: 'function', function: { name: 'read', description: 'c1c', parameters: { c2c: 'c3c' } } },
    ],
    messages: [
      { role: 'developer', content: 'c4c' },
      { role: 'system', content: [text('c5c')] },
      {
        role: 'user',
        content: [
          text('c6c'),
          { type: 'image_url', image_url: 'https://c7c.example/' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,c8c' } },
          { type: 'file', file: { filename: 'c9c', file_data: 'data:application/pdf;base64,c10c' } },
          { type: 'file', file: { file_data: 'c11c' } },
        ],
      },
      { role: 'assistant', content: [text('c12c'), { type: 'refusal', refusal: 'c13c' }], refusal: 'c14c' },
      { role: 'user', content: 'c15c' },
      {
        role: 'assistant',
        tool_calls: [
          { id: 't', type: 'custom', custom: { name: 'patch', input: 'c16c' } },
          { id: 'u', type: 'function', function: { name: 'read', arguments: 'c17c' } },
        ],
      },
      { role: 'tool', tool_call_id: 'u', content: 'c18c' },
      { role: 'tool', tool_call_id: 't', content: [text('c19c')] },
      { role: 'developer', content: 'c20c' },
      { role: 'user', content: 'c21c' },
    ],
  },
  responses: {
    model: 'm',
    instructions: 'c0c',
    tools: [
      { type: 'custom', name: 'patch', description: 'c1c', format: grammar },
      {
        type: 'namespace',
        name: 'files',
        tools: [function_('read', 'c2c'), { type: 'custom', name: 'write', description: 'c3c' }],
      },
      { type: 'local_shell' },
      { type: 'tool_search', execution: 'client', description: 'c4c', parameters: { c5c: 'c6c' } },
    ],
    input: [
      { role: 'developer', content: [{ type: 'input_text', text: 'c7c' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'c8c' },
          { type: 'input_image', image_url: 'https://c9c.example/' },
          { type: 'input_file', filename: 'c10c', file_data: 'data:application/pdf;base64,c11c' },
        ],
      },
      { type: 'web_search_call', id: 'w', action: { query: 'c12c' } },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'c13c' }] },
      { type: 'function_call', call_id: 'a', namespace: 'files', name: 'read', arguments: '{"c14c":"c15c"}' },
      { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: 'c16c' },
      { type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['c17c'] } },
      { type: 'tool_search_call', call_id: 'd', execution: 'client', arguments: { query: 'c18c' } },
      { type: 'tool_search_output', call_id: 'd', execution: 'client', tools: [function_('found', 'c19c')] },
      { type: 'local_shell_call_output', id: 'c', output: 'c20c' },
      { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'c21c' }] },
      {
        type: 'function_call_output',
        call_id: 'a',
        output: [{ type: 'input_image', image_url: 'https://c22c.example/' }],
      },
      { role: 'user', content: 'c23c' },
    ],
  },
};

const canariesIn = (words: string): string[] => [...new Set(words.match(/c\d+c/g))].sort();

describe('every kind of block and tool', () => {
  for (const [client, forms] of Object.entries(translatedTo) as [ClientFormName, readonly ('chat' | 'messages')[]][]) {
    for (const form of forms) {
      it(`arrives from ${client} at ${form}`, () => {
        const request = JSON.stringify(REQUESTS[client]);
        const { body } = translateRequest({ client, body: Buffer.from(request), model: 'm' }, TARGETS[form]);
        assert.deepEqual(canariesIn(Buffer.from(body).toString('utf8')), canariesIn(request));
      });
    }
  }
});
