import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused } from '../../../test/support/request-input.ts';
import { BodyFields } from './fields.ts';
import { inputTokens } from './input-tokens.ts';

const inspect = (text: string): string | null => inputTokens.inspect(BodyFields.read(Buffer.from(text)));
const inspectBody = (rest: object): string | null => inspect(JSON.stringify({ model: 'm', ...rest }));

describe('input tokens', () => {
  it('require a model, which is returned', () => {
    assert.equal(inspectBody({}), 'm');
    assert.equal(inputTokens.requiresModel, true);
    for (const model of [undefined, null, '', 7]) assertRefused(() => inspectBody({ model }), 'model');
  });

  it('are refused if the request refers to stored data', () => {
    for (const name of ['conversation', 'previous_response_id', 'prompt']) {
      for (const value of ['x', '', { id: 'x' }, {}, 7]) assertRefused(() => inspectBody({ [name]: value }), name);
      assert.equal(inspectBody({ [name]: null }), 'm');
    }
  });

  it('are counted for a string, for items, and without input', () => {
    for (const input of [undefined, null, '', 'x', [], [{}], [{ type: 'message', id: 'msg_1' }]]) {
      assert.equal(inspectBody({ input }), 'm');
    }
    assertRefused(() => inspectBody({ input: 7 }), 'input');
    assertRefused(() => inspectBody({ input: [{ id: 'msg_1' }] }), 'input[0].id');
    assertRefused(() => inspectBody({ input: [{}, { type: 'item_reference' }] }), 'input[1].type');
    const file = { type: 'input_file', file_id: 'file_1' };
    assertRefused(() => inspectBody({ input: [{ content: [file] }] }), 'input[0].content[0].file_id');
  });

  it('are refused for tools with remote schemas', () => {
    for (const tools of [undefined, null, [], [{}], [{ type: 'mcp' }]]) assert.equal(inspectBody({ tools }), 'm');
    assertRefused(() => inspectBody({ tools: [{ type: 'mcp', server_url: 'https://x' }] }), 'tools[0].server_url');
    assertRefused(() => inspectBody({ tools: {} }), 'tools');
  });

  it('are refused if a counted field has a wrong type', () => {
    for (const [name, values] of Object.entries({
      instructions: [7, {}, []],
      reasoning: ['high', [], 7],
      text: ['plain', [], true],
    })) {
      for (const value of values) assertRefused(() => inspectBody({ [name]: value }), name);
      assert.equal(inspectBody({ [name]: null }), 'm');
    }
  });

  it('are refused if a key that is read is duplicated', () => {
    for (const name of ['model', 'input', 'instructions', 'reasoning', 'text', 'tools', 'conversation', 'prompt']) {
      assertRefused(() => inspect(`{"model":"m","${name}":null,"${name}":null}`), name);
    }
  });

  it('have the vendor’s response format', () => {
    assert.deepEqual(inputTokens.toResponse(7), { object: 'response.input_tokens', input_tokens: 7 });
  });
});
