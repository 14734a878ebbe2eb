import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_SCENARIOS, parseScenarios } from './scenarios.ts';

const names = (list: string): string[] => parseScenarios(list).map(({ name }) => name);

describe('scenarios', () => {
  it('have the number after their name, or the default of their kind', () => {
    assert.deepEqual(names('chat-7,streams, rate-90'), ['chat-7', 'streams-1000', 'rate-90']);
    assert.deepEqual(
      parseScenarios('chat-7').map(({ size, unit }) => [size, unit]),
      [[7, 'connections']],
    );
  });

  it('all: includes every kind, and the default scenarios', () => {
    assert.deepEqual([...new Set(parseScenarios('all').map(({ kind }) => kind))].sort(), [
      'catalog',
      'chat',
      'coding',
      'estimate',
      'images',
      'prompt',
      'rate',
      'response',
      'streams',
      'translated-chat',
      'translated-stream',
    ]);
    const all = names('all');
    for (const name of names(DEFAULT_SCENARIOS)) assert.ok(all.includes(name) || name === 'rate-500', name);
  });

  it('names an unknown scenario', () => {
    for (const name of ['chats', 'chat-0', 'chat-x', '', 'chat-64-1']) {
      assert.throws(() => parseScenarios(`chat,${name}`), { message: new RegExp(`^"${name}" is no scenario`) });
    }
  });
});
