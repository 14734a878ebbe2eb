import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assertRefused } from '../../../test/support/request-input.ts';
import { countTokens } from './count-tokens.ts';
import { BodyFields } from './fields.ts';

const inspect = (text: string): string | null => countTokens.inspect(BodyFields.read(Buffer.from(text)));
const inspectBody = (body: object): string | null => inspect(JSON.stringify({ messages: [], ...body }));

describe('count tokens', () => {
  it('returns the model, which need not exist', () => {
    assert.equal(inspectBody({ model: 'm' }), 'm');
    for (const model of [undefined, null]) assert.equal(inspectBody({ model }), null);
    assert.equal(countTokens.requiresModel, false);
    for (const model of [7, {}, ['m']]) assertRefused(() => inspectBody({ model }), 'model');
  });

  it('requires messages', () => {
    for (const messages of [undefined, null, 'x', {}, 7]) assertRefused(() => inspectBody({ messages }), 'messages');
  });

  it('blames the message that is invalid', () => {
    const sound = { role: 'user', content: 'x' };
    for (const [message, param] of [
      ['x', 'messages[1]'],
      [null, 'messages[1]'],
      [[], 'messages[1]'],
      [{ content: 'x' }, 'messages[1].role'],
      [{ role: '', content: 'x' }, 'messages[1].role'],
      [{ role: 7, content: 'x' }, 'messages[1].role'],
      [{ role: 'user' }, 'messages[1].content'],
      [{ role: 'user', content: null }, 'messages[1].content'],
      [{ role: 'user', content: {} }, 'messages[1].content'],
    ] as const) {
      assertRefused(() => inspectBody({ messages: [sound, message, 'x'] }), param);
    }
  });

  it('accepts any role, blocks and additional fields', () => {
    const message = fc.record({
      role: fc.string({ minLength: 1 }),
      content: fc.oneof(fc.string(), fc.array(fc.json())),
    });
    fc.assert(
      fc.property(
        fc.array(message),
        fc.dictionary(
          fc.string().map((key) => `x${key}`),
          fc.jsonValue(),
        ),
        (messages, rest) => {
          assert.equal(inspectBody({ ...rest, messages, model: 'm' }), 'm');
        },
      ),
    );
  });

  it('accepts tools in an array, or none', () => {
    for (const tools of [undefined, null, [], [{}], ['x']]) assert.equal(inspectBody({ tools }), null);
    for (const tools of [{}, 'x', 7]) assertRefused(() => inspectBody({ tools }), 'tools');
  });

  it('refuses a duplicate of a member that it reads', () => {
    for (const name of ['model', 'messages', 'tools']) {
      const others = name === 'messages' ? '' : '"messages":[],';
      assertRefused(() => inspect(`{${others}"${name}":[],"${name}":[]}`), name);
    }
  });

  it('has the vendor’s response shape', () => {
    assert.deepEqual(countTokens.toResponse(7), { input_tokens: 7 });
  });
});
