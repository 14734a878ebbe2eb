import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonOperationName } from './all.ts';
import { jsonOperationOf } from './all.ts';
import { READ_LATER_BYTES_MAX } from './session.ts';

const MESSAGES = [{ role: 'user', content: 'Hello' }];
const BODIES = {
  chat: { model: 'm', messages: MESSAGES },
  messages: { model: 'm', max_tokens: 5, messages: MESSAGES },
  responses: { model: 'm', input: 'Hello' },
  compact: { model: 'm', input: 'Hello' },
  completions: { model: 'm', prompt: 'Hello' },
  embeddings: { model: 'm', input: 'Hello' },
  rerank: { model: 'm', query: 'Hello', documents: ['Hello'] },
  'images.generate': { model: 'm', prompt: 'Hello' },
} as const satisfies Record<JsonOperationName, object>;

function endUserOf(name: JsonOperationName, members: object): string | null {
  const operation = jsonOperationOf(name);
  const body = Buffer.from(JSON.stringify({ ...BODIES[name], ...members }));
  return operation.toInput(operation.read(body), body).endUser();
}

const ALL = { user: 'plain', metadata: { user_id: 'within' }, safety_identifier: 'hashed' };

describe('the end user of a request', () => {
  for (const name of Object.keys(BODIES) as JsonOperationName[]) {
    it(`${name}: is named by the member of the vendor first, then by the others`, () => {
      const isOfMessages = name === 'messages';
      assert.equal(endUserOf(name, ALL), isOfMessages ? 'within' : 'hashed');
      assert.equal(endUserOf(name, { ...ALL, safety_identifier: null, metadata: {} }), 'plain');
      assert.equal(endUserOf(name, { metadata: ALL.metadata }), 'within');
      assert.equal(endUserOf(name, {}), null);
    });
  }

  it('is the same for a large body, which is read in another thread', () => {
    const content = 'x'.repeat(READ_LATER_BYTES_MAX);
    const large = { messages: [{ role: 'user', content }] };
    assert.equal(endUserOf('chat', { ...large, ...ALL }), 'hashed');
    assert.equal(endUserOf('messages', { ...large, ...ALL }), 'within');
    assert.equal(endUserOf('chat', large), null);
  });

  it('is left out if it is longer than 128 characters, not a string, or not plain text', () => {
    const longest = '\u4f60'.repeat(128);
    assert.equal(endUserOf('chat', { user: longest }), longest);
    for (const user of [`${longest}x`, '', 7, {}, 'a\u0000b', 'a\u001b[2J', 'a\nb', '\ud800']) {
      assert.equal(endUserOf('chat', { user }), null, JSON.stringify(user));
      assert.equal(endUserOf('chat', { safety_identifier: user, user: 'next' }), 'next');
    }
    assert.equal(endUserOf('chat', { metadata: 'text' }), null);
    assert.equal(endUserOf('chat', { metadata: ['user_id'] }), null);
  });
});
