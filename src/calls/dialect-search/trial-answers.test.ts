import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { repairedDialect, requiredReplay, shownReasoning, toolTurns } from './trial-answers.ts';

const chat = (message: object, usage: object = {}) => Buffer.from(JSON.stringify({ choices: [{ message }], usage }));

describe('the answer of a trial', () => {
  it('shows reasoning in the members of vendors, or in the usage', () => {
    const shown = (message: object, usage = {}) => shownReasoning('chat', chat(message, usage));
    assert.deepEqual(shown({ content: 'a', reasoning_content: '' }), { isShown: false, members: [] });
    assert.deepEqual(shown({ reasoning: 'b', reasoning_details: [{ type: 'reasoning.text' }] }), {
      isShown: true,
      members: ['reasoning_details', 'reasoning'],
    });
    const hidden = { completion_tokens_details: { reasoning_tokens: 9 } };
    assert.deepEqual(shown({ content: 'a' }, hidden), { isShown: true, members: [] });
    const messages = Buffer.from('{"content":[{"type":"thinking","thinking":"","signature":"s"}]}');
    assert.equal(shownReasoning('messages', messages).isShown, true);
    assert.equal(shownReasoning('messages', Buffer.from('no JSON')).isShown, false);
  });

  it('returns each call of a tool with a result', () => {
    const content = [
      { type: 'thinking', thinking: 't', signature: 's' },
      { type: 'tool_use', id: 'one', name: 'add', input: {} },
    ];
    assert.deepEqual(toolTurns('messages', { content }), [
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'one', content: '5' }] },
    ]);
    assert.equal(toolTurns('messages', { content: [{ type: 'text', text: '5' }] }), null);
    const message = { role: 'assistant', tool_calls: [{ id: 'one' }, { id: 'two' }] };
    assert.deepEqual(
      toolTurns('chat', { choices: [{ message }] })?.map((turn) => ('tool_call_id' in turn ? turn.tool_call_id : null)),
      [null, 'one', 'two'],
    );
  });

  it('changes the dialect by the words of a refusal', () => {
    const limit = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    assert.deepEqual(repairedDialect({}, limit), { maxTokens: 'max_completion_tokens' });
    assert.equal(repairedDialect({ maxTokens: 'max_completion_tokens' }, limit), null);
    assert.deepEqual(repairedDialect({}, 'invalid temperature: only 1 is allowed'), { drops: ['temperature'] });
    assert.equal(repairedDialect({ drops: ['temperature'] }, 'invalid temperature'), null);
    assert.equal(repairedDialect({}, 'The model does not exist.'), null);
    assert.equal(requiredReplay('The `reasoning_content` must be passed back to the API.'), 'reasoning_content');
    assert.equal(requiredReplay('Bad reasoning_effort.'), null);
  });
});
