import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { weaknessOf } from './weak-secret.ts';

describe('weaknessOf', () => {
  const PLACEHOLDERS = [
    'replace-me-by-openssl-rand',
    'change-me-change-me-now',
    'changeme-changeme-1',
    'CHANGE_THIS_ADMIN_TOKEN_5f9c',
    '<your-admin-token>',
    '${FAREGATE_ADMIN_TOKEN}',
    '$(openssl rand -hex 24)',
    '{{ admin_token }} ',
    'your-token-goes-here',
    'YourSuperSecretToken',
    'my-secret-admin-token',
    'admin-secret-password',
    'password12345678',
    'insert-token-from-vault',
    'faregate-admin-key-2024'.replace('2024', '1234'),
    'sk-1234567890abcdef',
    '0123456789abcdef',
    '1234567890123456',
    'qwertyuiopasdfghjkl',
    'xxxxxxxxxxxxxxxxxxxx',
    'token-xxxxxxxxxxxxxxxx',
    'default-secret-please-change',
    'adminadminadminadmin',
    'example-token-83hd7a',
  ];
  for (const secret of PLACEHOLDERS) {
    it(`finds the placeholder ${secret}`, () => assert.equal(weaknessOf(secret, 16), 'is a placeholder'));
  }

  it('finds repetition', () => {
    for (const secret of ['k8Zqk8Zqk8Zqk8Zq', 'k8Zq27Lmk8Zq27Lmk8', 'a1b1a1b1b1a1a1b1a1', '9w4-9w4-9w4-9w4-9w']) {
      assert.equal(weaknessOf(secret, 16), 'repeats itself', secret);
    }
  });

  it('finds short secrets', () => {
    assert.equal(weaknessOf('k8Zq27Lm0aPw4x1', 16), 'has 15 characters');
    assert.equal(weaknessOf('k8Zq27Lm0aPw4x1b', 16), null);
  });

  it('finds no weakness in random secrets and in passphrases', () => {
    for (let made = 0; made < 2_000; made++) {
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        const secret = randomBytes(24).toString(encoding);
        assert.equal(weaknessOf(secret, 16), null, secret);
      }
    }
    for (const secret of [
      'correct horse battery staple',
      'blue-otter-admin-token',
      '550e8400-e29b-41d4-a716-446655440000',
    ]) {
      assert.equal(weaknessOf(secret, 16), null, secret);
    }
  });
});
