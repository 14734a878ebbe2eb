import assert from 'node:assert/strict';
import { it } from 'node:test';
import { flowSecretsOf } from './oidc-secrets.ts';

it('the secrets of a sign-in are derived from its handle, and all differ', () => {
  const [handle, other] = ['a'.repeat(43), 'b'.repeat(43)];
  assert.deepEqual(flowSecretsOf(handle), flowSecretsOf(handle));
  const all = [handle, other, ...[handle, other].flatMap((one) => Object.values(flowSecretsOf(one)))];
  assert.equal(new Set(all).size, 8);
  // The characters that PKCE allows in a code verifier.
  assert.match(flowSecretsOf(handle).codeVerifier, /^[\w-]{43}$/);
});
