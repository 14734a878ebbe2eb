import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { BodyFields } from './fields.ts';
import { bodySession, readSession, SESSION_HEADERS, sessionPlaces } from './session.ts';

const sessionOf = (request: object, headers: IncomingHttpHeaders = {}) => {
  const body = Buffer.from(JSON.stringify(request));
  return readSession(headers, body, bodySession(body, sessionPlaces(BodyFields.read(body).members)));
};
const textOf = (request: object) => {
  const session = sessionOf(request);
  assert.ok(session === null || session.by === 'conversation');
  return session?.value ?? null;
};

describe('the session of a call', () => {
  const messages = [{ role: 'user', content: 'Hello' }];

  it('is identified by the cache key, a header, the user id, or the beginning of the conversation, in this order', () => {
    const metadata = { user_id: 'user_1_session_2' };
    const headers = { 'session-id': 's1', 'x-session-id': 's2' };
    for (const [request, sent, session] of [
      [{ messages, metadata, prompt_cache_key: 'k' }, headers, { by: 'prompt_cache_key', value: 'k' }],
      [{ messages, metadata, prompt_cache_key: null }, headers, { by: 'session-id', value: 's1' }],
      [{ messages, metadata, prompt_cache_key: '' }, {}, { by: 'metadata.user_id', value: 'user_1_session_2' }],
      [{ messages, metadata: { user_id: 7 } }, {}, { by: 'conversation', value: 'Hello' }],
      [{ messages: [] }, {}, null],
    ] as const) {
      assert.deepEqual(sessionOf(request, sent), session);
    }
    for (const name of SESSION_HEADERS) assert.equal(sessionOf({ messages }, { [name]: 'x' })?.by, name);
  });

  it('never causes a refusal: the last of two members counts', () => {
    const body = Buffer.from(
      '{"messages":[],"prompt_cache_key":"a","metadata":[],"prompt_cache_key":"b","metadata":{}}',
    );
    assert.deepEqual(readSession({}, body, bodySession(body, sessionPlaces(BodyFields.read(body).members))), {
      by: 'prompt_cache_key',
      value: 'b',
    });
  });

  it('stays the same while a conversation grows and its cache_control moves', () => {
    const cache_control = { type: 'ephemeral' };
    const first = {
      system: [{ type: 'text', text: 'Be brief.', cache_control }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello', cache_control }] }],
    };
    const second = {
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: [{ type: 'text', text: 'More', cache_control }] },
      ],
    };
    assert.equal(textOf(first), textOf(second));
  });

  it("ignores Claude Code's attribution, which changes with each call", () => {
    const system = (hash: string) => [
      { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.332; cch=${hash};` },
      { type: 'text', text: 'Be brief.' },
    ];
    assert.equal(textOf({ system: system('a1'), messages }), textOf({ system: system('b2'), messages }));
  });

  it('is read from instructions, then tools, then turns up to the first user turn', () => {
    const turns = [
      { role: 'developer', content: 'B' },
      { content: 'D', role: 'user' },
      { role: 'user', content: 'E' },
    ];
    assert.equal(textOf({ input: turns, tools: [{ name: 'C' }], instructions: 'A' }), 'ACBD');
    assert.equal(textOf({ messages: turns }), 'BD');
    assert.equal(textOf({ input: 'Hello' }), 'Hello');
  });

  it('is read from at most 4 KiB', () => {
    assert.equal(
      textOf({ system: 'x'.repeat(4_000), messages: [{ role: 'user', content: 'y'.repeat(4_000) }] })?.length,
      4_096,
    );
  });

  it('is read together with a large body, which is not read again in the main thread', () => {
    const turns = Array.from({ length: 10_000 }, () => ({ role: 'assistant', parts: [1] }));
    const request = (more: object) => Buffer.from(JSON.stringify({ ...more, messages: [...turns, ...messages] }));
    for (const [more, byHeader] of [
      [{ prompt_cache_key: 'k' }, { by: 'prompt_cache_key', value: 'k' }],
      [{}, { by: 'session-id', value: 's1' }],
    ] as const) {
      const body = request(more);
      const inBody = bodySession(body, sessionPlaces(BodyFields.read(body).members));
      // Reading on would never end in these bytes.
      body.fill('[');
      const own = 'prompt_cache_key' in more ? byHeader : { by: 'conversation', value: 'Hello' };
      assert.deepEqual(readSession({}, body, inBody), own);
      assert.deepEqual(readSession({ 'session-id': 's1' }, body, inBody), byHeader);
    }
  });
});
