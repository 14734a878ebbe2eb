import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mixedText, requestBodies, responseBody } from './bodies.ts';

describe('bodies of the bench', () => {
  it('mixed text: has the requested size, and no line twice, also across texts', () => {
    const texts = [mixedText(200_000), mixedText(200_000, 1)];
    for (const text of texts) {
      const bytes = Buffer.byteLength(text);
      assert.ok(bytes >= 200_000 && bytes < 200_200, String(bytes));
    }
    const lines = texts.flatMap((text) => text.trimEnd().split('\n'));
    assert.equal(new Set(lines).size, lines.length);
  });

  it('long prompts are different JSON bodies of at least 200 KB', () => {
    const bodies = requestBodies('long prompt', 'm');
    assert.equal(new Set(bodies.map(({ bytes }) => bytes.toString('base64'))).size, bodies.length);
    for (const { bytes } of bodies) {
      assert.equal((JSON.parse(bytes.toString()) as { model: string }).model, 'm');
      assert.ok(bytes.length > 200_000 && bytes.length < 230_000, String(bytes.length));
    }
  });

  it('a long response has 1 MB, and a request without a body has none', () => {
    const { bytes } = responseBody('long');
    assert.ok(bytes.length > 1_000_000 && bytes.length < 1_100_000, String(bytes.length));
    assert.deepEqual(requestBodies('none', 'm'), []);
  });
});
