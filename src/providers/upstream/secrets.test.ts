import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { HiddenTexts, removeSecrets, scrub } from './secrets.ts';

const secrets = ['sk-provider-secret', 'api.acme.example:8443', 'api.acme.example'];

describe('scrub', () => {
  const cases: readonly [text: string, scrubbed: string][] = [
    ['prompt is too long: 250000 tokens > 200000 maximum', 'prompt is too long: 250000 tokens > 200000 maximum'],
    ['see https://docs.acme.example/errors.', 'see [address]'],
    ['(wss://x.example/y) and HTTP://1.2.3.4:80/', '([address]) and [address]'],
    ['Incorrect API key provided: sk-abc***************wxyz.', 'Incorrect API key provided: [key].'],
    ['Incorrect API key provided: AIza****Q4xw, or acme_1***.', 'Incorrect API key provided: [key], or [key].'],
    ['**bold** and ***, 2 ** 3, f**', '**bold** and ***, 2 ** 3, f**'],
    ['keys pk-12345678 and rk-12345678', 'keys [key] and [key]'],
    ['tokens fg_admin_12345678 and fg_link_1234', 'tokens [key] and fg_link_1234'],
    ['the sk-short one', 'the sk-short one'],
    ['host api.acme.example:8443 or api.acme.example', 'host [provider] or [provider]'],
    ['tab\tand\nline stay, \u0000\u001b[31mcontrol\u007f goes', 'tab\tand\nline stay, [31mcontrol goes'],
    ['sk-\u0000provider-\u0007secret', '[key]'],
    ['你好 😀', '你好 😀'],
  ];
  for (const [text, scrubbed] of cases) {
    it(`converts ${JSON.stringify(text)} to ${JSON.stringify(scrubbed)}`, () => {
      assert.equal(scrub(text, secrets), scrubbed);
    });
  }

  it('is fast for a long word', () => {
    const word = 'x'.repeat(1_000_000);
    assert.equal(removeSecrets(word, secrets), word);
    assert.equal(removeSecrets(`${word}***`, secrets), '[key]');
  });

  it('removes a host in any case, since host names are case-insensitive', () => {
    assert.equal(scrub('no route to API.Acme.Example', secrets), 'no route to [provider]');
  });

  it('treats a secret literally, whatever its characters', () => {
    assert.equal(scrub('a+b(c)[d]$ and aab(c)', ['a+b(c)[d]$']), '[provider] and aab(c)');
  });

  it('ignores very short secrets, which could be part of a word', () => {
    assert.equal(scrub('a cat', ['a', 'cat']), 'a cat');
    assert.equal(scrub('a cats', ['cats']), 'a [provider]');
  });

  it('truncates long messages', () => {
    assert.equal(scrub('x'.repeat(4_000), []), 'x'.repeat(4_000));
    assert.equal(scrub('x'.repeat(4_001), []), `${'x'.repeat(4_000)}…`);
  });

  it('leaves no secret, no control character and no excessive length in any text', () => {
    const part = fc.oneof(fc.constantFrom(...secrets, 'https://', 'sk-', '\u0000', ' ', '.'), fc.string());
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const scrubbed = scrub(parts.join(''), secrets);
        for (const secret of secrets) assert.ok(!scrubbed.includes(secret));
        assert.ok([...scrubbed].every((letter) => letter >= ' ' || /[\t\n\r]/.test(letter)));
        assert.ok(scrubbed.length <= 4_001);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});

describe('hidden texts of a provider', () => {
  it('include former credentials, longest first', () => {
    const hidden = new HiddenTexts(['acme.example']);
    for (const key of ['canary-1', 'canary-12', 'canary-1']) hidden.addCredential(key);
    assert.deepEqual(hidden.texts, ['acme.example', 'canary-12', 'canary-1']);
    assert.equal(scrub('canary-12 and canary-1', hidden.texts), '[provider] and [provider]');
    hidden.addCredential('Key');
    assert.deepEqual(hidden.words, ['acme.example', 'canary-12', 'canary-1']);
  });

  it('are limited in number, keeping the newest credentials', () => {
    const hidden = new HiddenTexts([]);
    for (let i = 0; i < 1_000; i++) hidden.addCredential(`canary-${i}`);
    assert.equal(hidden.texts.length, 200);
    assert.ok(hidden.texts.includes('canary-999') && hidden.texts.includes('canary-800'));
  });
});
