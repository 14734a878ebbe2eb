import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { responseTextTokens } from './response-text.ts';

const NAMES = {
  text: ['content', 'arguments'],
  reasoning: ['reasoning', 'reasoning_content'],
  written: ['input'],
  through: ['message', 'calls'],
};
const tokensOf = (value: unknown) => responseTextTokens(value, NAMES);

describe('the text of a whole response', () => {
  it('is a token for four bytes, rounded up once', () => {
    assert.equal(tokensOf([{ content: 'Hell' }, { content: 'o' }]), 2);
    assert.equal(tokensOf([{ content: '北京' }]), 2);
    assert.equal(tokensOf([]), 0);
  });

  it('is found in the members that are named, and in no others', () => {
    assert.equal(tokensOf({ message: { calls: [{ arguments: '{"a":1}!' }] } }), 2);
    assert.equal(tokensOf({ annotations: [{ content: 'a page that a search found' }], id: 'chatcmpl-1' }), 0);
  });

  it('has the reasoning once, if a provider sends it under two names', () => {
    assert.equal(
      tokensOf({ message: { reasoning: 'x'.repeat(8), reasoning_content: 'x'.repeat(12), content: 'done' } }),
      4,
    );
  });

  it('has objects that the model wrote, as JSON', () => {
    assert.equal(tokensOf([{ input: { city: 'Rome' } }]), Math.ceil('{"city":"Rome"}'.length / 4));
    assert.equal(tokensOf([{ input: null }]), 0);
  });

  it('may be nested as deeply as it likes', () => {
    let value: unknown = { content: 'deep' };
    for (let level = 0; level < 100_000; level++) value = { message: [value] };
    assert.equal(tokensOf(value), 1);
  });
});
