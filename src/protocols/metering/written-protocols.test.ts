import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMPLETION_TEXT, streamedChatText } from '../chat/written.ts';
import { MESSAGE_TEXT, streamedMessageText } from '../messages/written.ts';
import { LAST_EVENT_TEXT, RESPONSE_TEXT, streamedResponseText } from '../responses/written.ts';
import type { WrittenRules } from './written-paths.ts';
import { WrittenText } from './written-text.ts';

/** Where each protocol has text by the model, in stream events and in non-streaming responses. */

const sizeOf = (rules: WrittenRules, bodies: readonly object[], isStream: boolean): number => {
  const text = new WrittenText(rules, isStream);
  for (const body of bodies)
    text.add(Buffer.from(isStream ? `data: ${JSON.stringify(body)}\n\n` : JSON.stringify(body)));
  return text.sizeBytes;
};

const page = 'what a search found '.repeat(500);

describe('text by the model in chat', () => {
  const messages: readonly [what: string, bytes: number, message: object, around?: object][] = [
    ['text', 4, { role: 'assistant', content: 'four' }],
    [
      'text in parts',
      7,
      {
        content: [
          { type: 'text', text: 'four' },
          { type: 'text', text: 'six' },
        ],
      },
    ],
    ['a refusal', 4, { refusal: 'four' }],
    ['tool arguments', 7, { tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }] }],
    ['arguments as an object', 7, { tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }],
    ['custom tool input', 4, { tool_calls: [{ custom: { name: 'f', input: 'four' } }] }],
    ['function arguments', 7, { function_call: { name: 'f', arguments: '{"a":1}' } }],
    ['a transcript, but not its audio', 4, { audio: { id: 'a', transcript: 'four', data: page } }],
    ['reasoning under another name', 4, { reasoning_text: 'four' }],
    [
      'thinking and thinking blocks, counted once',
      4,
      { thinking: 'four', thinking_blocks: [{ type: 'thinking', thinking: 'four' }] },
    ],
    ['reasoning, counted once', 6, { content: 'ab', reasoning: 'four', reasoning_content: 'fou' }],
    [
      'reasoning and its details, counted once',
      6,
      { content: 'ab', reasoning: 'four', reasoning_details: [{ type: 'reasoning.text', text: 'four' }] },
    ],
    ['reasoning in content parts', 4, { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'four' }] }] }],
    ['encrypted reasoning', 30_000, { reasoning_details: [{ type: 'reasoning.encrypted', data: 'A'.repeat(40_000) }] }],
    [
      'nothing for citations',
      4,
      { content: 'four', annotations: [{ type: 'url_citation', url_citation: { content: page } }] },
    ],
    [
      'nothing for search results',
      4,
      {
        content: 'four',
        executed_tools: [{ arguments: '{}', output: page, search_results: { results: [{ content: page }] } }],
      },
    ],
    [
      'nothing for results of calls',
      4,
      { content: 'four', tool_calls: [{ web_search: { outputs: page }, content: page, output: page }] },
    ],
    [
      'nothing for images',
      4,
      {
        content: [
          { type: 'text', text: 'four' },
          { type: 'image_url', image_url: { url: page } },
        ],
      },
    ],
    ['nothing for a tool message', 0, { role: 'tool', content: page }],
    [
      'nothing outside the choices',
      4,
      { content: 'four' },
      { web_search: [{ content: page, text: page }], search_results: [{ content: page }], citations: [page] },
    ],
  ];
  for (const [what, bytes, message, around = {}] of messages) {
    it(`is ${what}, in streams and non-streaming responses`, () => {
      assert.equal(sizeOf(streamedChatText(), [{ choices: [{ index: 0, delta: message }], ...around }], true), bytes);
      assert.equal(sizeOf(COMPLETION_TEXT, [{ choices: [{ index: 0, message }], ...around }], false), bytes);
    });
  }

  it('excludes a message that every chunk repeats from its beginning', () => {
    const chunks = ['four', ' and', ' six'].map((content, i, all) => ({
      choices: [
        { index: 0, message: { role: 'assistant', content: all.slice(0, i + 1).join('') }, delta: { content } },
      ],
    }));
    assert.equal(sizeOf(streamedChatText(), chunks, true), 12);
  });
});

describe('the chunks of a message in a chat stream', () => {
  const pieces = (...deltas: object[]) => deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
  const cases: readonly [what: string, bytes: number, ...deltas: object[]][] = [
    [
      'do not count for tools, also without a role',
      4,
      { role: 'tool', content: 'page' },
      { content: 'page' },
      { role: 'assistant', content: 'four' },
    ],
    [
      'keep the previous role if the role is empty',
      4,
      { role: 'tool', content: 'page' },
      { role: null, content: 'page' },
      { role: '', content: 'page' },
      { role: 'assistant', content: 'four' },
    ],
    [
      'count for the model, also without a role',
      8,
      { role: 'assistant', content: '' },
      { content: 'four' },
      { role: null, content: 'four' },
    ],
  ];
  for (const [what, bytes, ...deltas] of cases) {
    it(what, () => assert.equal(sizeOf(streamedChatText(), pieces(...deltas), true), bytes));
  }
});

describe('text by the model in messages', () => {
  const blocks: readonly [what: string, bytes: number, block: object][] = [
    ['text', 4, { type: 'text', text: 'four', citations: [{ cited_text: page, title: page }] }],
    ['thinking, visible or encrypted', 4, { type: 'thinking', thinking: 'four', signature: 'A' }],
    ['encrypted thinking', 300, { type: 'redacted_thinking', data: 'A'.repeat(400) }],
    ['tool input', 15, { type: 'tool_use', id: 't', name: 'f', input: { city: 'Rome' } }],
    ['provider tool input', 15, { type: 'server_tool_use', id: 't', name: 'f', input: { city: 'Rome' } }],
    ['no empty input', 0, { type: 'tool_use', id: 't', name: 'f', input: {} }],
    ['a compaction summary', 4, { type: 'compaction', content: 'four' }],
    [
      'no search results',
      0,
      {
        type: 'web_search_tool_result',
        content: [{ type: 'web_search_result', title: page, encrypted_content: page }],
      },
    ],
    [
      'no fetched pages',
      0,
      {
        type: 'web_fetch_tool_result',
        content: { type: 'web_fetch_result', content: { source: { type: 'text', data: page } } },
      },
    ],
    ['no MCP results', 0, { type: 'mcp_tool_result', content: [{ type: 'text', text: page }] }],
    ['no MCP results in text form', 0, { type: 'mcp_tool_result', content: page }],
    ['no code output', 0, { type: 'code_execution_tool_result', content: { stdout: page }, text: page }],
    ['no results of unknown types', 0, { type: 'new_tool_result', text: page, data: page, input: { page } }],
  ];
  for (const [what, bytes, block] of blocks) {
    it(`is ${what}, in streams and non-streaming responses`, () => {
      const start = { type: 'content_block_start', index: 0, content_block: block };
      assert.equal(sizeOf(streamedMessageText(), [start], true), bytes);
      assert.equal(sizeOf(MESSAGE_TEXT, [{ type: 'message', content: [block] }], false), bytes);
    });
  }

  it('may be a string in place of the blocks', () => {
    assert.equal(sizeOf(MESSAGE_TEXT, [{ type: 'message', content: 'four' }], false), 4);
  });

  it('is in the deltas of a block unless it is a result block', () => {
    const start = (index: number, type: string) => ({ type: 'content_block_start', index, content_block: { type } });
    const delta = (index: number, piece: object) => ({ type: 'content_block_delta', index, delta: piece });
    const events = [
      start(0, 'text'),
      delta(0, { type: 'text_delta', text: 'four' }),
      delta(0, { type: 'citations_delta', citation: { cited_text: page, url: page } }),
      start(1, 'mcp_tool_result'),
      delta(1, { type: 'text_delta', text: page }),
      delta(0, { type: 'text_delta', text: 'six' }),
      start(2, 'server_tool_use'),
      delta(2, { type: 'input_json_delta', partial_json: '{}' }),
      start(1, 'text'),
      delta(1, { type: 'text_delta', text: 'again' }),
    ];
    assert.equal(sizeOf(streamedMessageText(), events, true), 4 + 3 + 2 + 5);
  });
});

describe('text by the model in responses', () => {
  const events: readonly [type: string, bytes: number][] = [
    ['response.output_text.delta', 4],
    ['response.refusal.delta', 4],
    ['response.reasoning_text.delta', 4],
    ['response.reasoning_summary_text.delta', 4],
    ['response.function_call_arguments.delta', 4],
    ['response.mcp_call_arguments.delta', 4],
    ['response.custom_tool_call_input.delta', 4],
    ['response.code_interpreter_call_code.delta', 4],
    ['response.shell_call_command.delta', 4],
    ['response.apply_patch_call_operation_diff.delta', 4],
    ['response.audio.transcript.delta', 4],
    ['response.output_audio_transcript.delta', 4],
    ['response.shell_call_output_content.delta', 0],
    ['response.mcp_call_output_text.delta', 0],
    ['response.audio.delta', 0],
    ['response.output_audio.delta', 0],
    ['response.output_text.done', 0],
    ['response.web_search_call.delta', 0],
  ];
  for (const [type, bytes] of events) {
    it(`is ${bytes === 0 ? 'nothing' : 'the delta'} of ${type}`, () => {
      assert.equal(sizeOf(streamedResponseText(), [{ type, delta: 'four' }], true), bytes);
    });
  }

  const items: readonly [what: string, bytes: number, item: object][] = [
    [
      'text',
      4,
      { type: 'message', content: [{ type: 'output_text', text: 'four', annotations: [{ title: page, text: page }] }] },
    ],
    ['a refusal', 4, { type: 'message', content: [{ type: 'refusal', refusal: 'four' }] }],
    [
      'reasoning, visible or encrypted',
      300,
      { type: 'reasoning', summary: [{ text: 'four' }], encrypted_content: 'A'.repeat(400) },
    ],
    ['reasoning', 4, { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'four' }], summary: [] }],
    ['arguments', 7, { type: 'function_call', arguments: '{"a":1}' }],
    ['the call of an MCP tool, without its output', 7, { type: 'mcp_call', arguments: '{"a":1}', output: page }],
    ['input', 4, { type: 'custom_tool_call', input: 'four' }],
    [
      'code, without its output',
      4,
      { type: 'code_interpreter_call', code: 'four', outputs: [{ type: 'logs', logs: page }] },
    ],
    ['commands', 4, { type: 'shell_call', action: { commands: ['ls', 'id'] } }],
    ['no command output', 0, { type: 'shell_call_output', output: [{ stdout: page }], content: [{ text: page }] }],
    ['no search results', 0, { type: 'file_search_call', queries: ['q'], results: [{ text: page }] }],
    ['no pages', 0, { type: 'web_search_call', action: { type: 'search', query: 'q', sources: [{ text: page }] } }],
    ['no tool lists of servers', 0, { type: 'mcp_list_tools', tools: [{ name: 'f', input_schema: { text: page } }] }],
    ['no images', 0, { type: 'image_generation_call', result: page }],
  ];
  for (const [what, bytes, item] of items) {
    it(`is ${what}, in non-streaming responses and in the last event of a stream`, () => {
      const response = { object: 'response', output: [item] };
      assert.equal(sizeOf(RESPONSE_TEXT, [response], false), bytes);
      assert.equal(sizeOf(LAST_EVENT_TEXT, [{ type: 'response.completed', response }], false), bytes);
      assert.equal(sizeOf(streamedResponseText(), [{ type: 'response.completed', response }], true), 0);
    });
  }

  describe('and in the event that completes an item', () => {
    const done = (item: object, output_index?: number) => ({ type: 'response.output_item.done', output_index, item });
    const delta = (text: string, output_index?: number, type = 'response.output_text.delta') => ({
      type,
      output_index,
      delta: text,
    });
    const message = { type: 'message', content: [{ type: 'output_text', text: 'four' }] };
    const call = { type: 'function_call', name: 'f', arguments: '{"a":1}' };
    const reasoning = { type: 'reasoning', summary: [{ text: 'four' }], encrypted_content: 'A'.repeat(400) };
    const cases: readonly [what: string, bytes: number, events: readonly object[]][] = [
      ['the text of an item without deltas', 4, [done(message, 0)]],
      [
        'the arguments of a call without deltas, after text with deltas',
        11,
        [delta('four', 0), done(message, 0), done(call, 1)],
      ],
      ['arguments as an object', 7, [done({ ...call, arguments: { a: 1 } }, 0)]],
      ['nothing that is also in deltas', 4, [delta('four', 0), done(message, 0)]],
      [
        'nothing that is also in deltas between those of another item',
        8,
        [delta('four', 0), delta('four', 1), done(message, 0), done(message, 1)],
      ],
      ['nothing that is also in deltas without an index', 4, [delta('four'), done(message, 0)]],
      [
        'encrypted reasoning, also after deltas of the summary',
        300,
        [delta('four', 0, 'response.reasoning_summary_text.delta'), done(reasoning, 0)],
      ],
      ['no summary in addition to encrypted reasoning', 300, [done(reasoning, 0)]],
      ['no tool output', 0, [done({ type: 'function_call_output', output: page, content: [{ text: page }] }, 0)]],
    ];
    for (const [what, bytes, events] of cases) {
      it(`is ${what}`, () => assert.equal(sizeOf(streamedResponseText(), events, true), bytes));
    }
  });
});
