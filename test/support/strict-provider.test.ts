import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PLAIN_CHAT, PLAIN_MESSAGES } from '../../src/protocols/translation/dialect.ts';
import { chatRefusal } from './strict-chat.ts';
import { messagesRefusal } from './strict-messages.ts';

/** Each change makes an acceptable request one that vendors refuse. */

const SCHEMA = { type: 'object', properties: {} };
const user = { role: 'user', content: 'a' };
const called = {
  role: 'assistant',
  content: null,
  reasoning_content: 'r',
  tool_calls: [{ id: 't', type: 'function', function: { name: 'read', arguments: '{}' } }],
};
const result = { role: 'tool', tool_call_id: 't', content: 'b' };
const chat = {
  model: 'm',
  tools: [{ type: 'function', function: { name: 'read', parameters: SCHEMA } }],
  messages: [{ role: 'system', content: 's' }, user, called, result, user],
};
const chatWith = (change: object): string | null =>
  chatRefusal(
    { ...chat, ...change },
    { dialect: { ...PLAIN_CHAT, replay: 'reasoning_content' }, issued: new Map([['t', 'r']]) },
  );
const chatChanges: Readonly<Record<string, object>> = {
  'an unknown member': { seed: 1 },
  'a choice without tools': { tools: undefined, tool_choice: 'auto' },
  'changed reasoning': { messages: [user, { ...called, reasoning_content: 'x' }, result] },
  'missing reasoning': { messages: [user, { ...called, reasoning_content: undefined }, result] },
  'later instructions': { messages: [user, { role: 'system', content: 's' }] },
  'a result apart from its call': { messages: [user, called, user, result] },
  'a missing result': { messages: [user, called, user] },
  'content as a list': { messages: [{ role: 'system', content: [{ type: 'text', text: 's' }] }, user] },
  'empty content': { messages: [{ role: 'user', content: '' }] },
  'a name outside the alphabet': { tools: [{ type: 'function', function: { name: 'a b', parameters: SCHEMA } }] },
  'a schema of no type': { tools: [{ type: 'function', function: { name: 'a', parameters: {} } }] },
};

const use = { type: 'tool_use', id: 't', name: 'read', input: {} };
const thinking = { type: 'thinking', thinking: 'r', signature: 's' };
const text = { type: 'text', text: 'a' };
const turn = (role: string, ...content: readonly object[]): object => ({ role, content });
const answered = turn('user', { type: 'tool_result', tool_use_id: 't', content: [text] });
const messages = {
  model: 'm',
  max_tokens: 2_000,
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  tools: [{ name: 'read', input_schema: SCHEMA }],
  messages: [turn('user', text), turn('assistant', thinking, use), answered],
};
const messagesWith = (change: object): string | null =>
  messagesRefusal(
    { ...messages, ...change },
    { dialect: { ...PLAIN_MESSAGES, thinking: 'budget' }, issued: new Map([['s', 'r']]) },
  );
const messagesChanges: Readonly<Record<string, object>> = {
  'an unknown member': { user: 'u' },
  'no output limit': { max_tokens: undefined },
  'a temperature above 1': { thinking: undefined, temperature: 1.5 },
  'a temperature with thinking': { temperature: 1 },
  'a forced tool with thinking': { tool_choice: { type: 'any' } },
  'a choice without tools': { tools: undefined, tool_choice: { type: 'auto' } },
  'changed thinking': {
    messages: [turn('user', text), turn('assistant', { ...thinking, thinking: 'x' }, use), answered],
  },
  'missing thinking': { messages: [turn('user', text), turn('assistant', use), answered] },
  'turns that do not alternate': { messages: [turn('user', text), turn('user', text)] },
  'a first turn of the assistant': { messages: [turn('assistant', text), turn('user', text)] },
  'instructions among the turns': { messages: [turn('user', text), turn('system', text)] },
  'a missing result': { messages: [turn('user', text), turn('assistant', thinking, use), turn('user', text)] },
  'a text of white space': { messages: [turn('user', { type: 'text', text: '\n' })] },
  'a repeated id': { messages: [...messages.messages, turn('assistant', thinking, use), answered] },
  'an id outside the alphabet': {
    messages: [
      turn('user', text),
      turn('assistant', thinking, { ...use, id: 'functions.read:0' }),
      turn('user', { type: 'tool_result', tool_use_id: 'functions.read:0' }),
    ],
  },
};

for (const [name, check, changes] of [
  ['chat', chatWith, chatChanges],
  ['messages', messagesWith, messagesChanges],
] as const) {
  describe(`a strict provider of ${name}`, () => {
    it('accepts a request that vendors accept', () => assert.equal(check({}), null));
    for (const [what, change] of Object.entries(changes)) {
      it(`refuses ${what}`, () => assert.notEqual(check(change), null));
    }
  });
}
