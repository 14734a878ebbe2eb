import { createHash } from 'node:crypto';

/** Values that bind the browser's return from the provider to the sign-in that it began. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/**
 * Computes the secrets of a flow. `handle`: the secret in the browser's cookie. The database has only its hash, so nobody can compute them
 * without the cookie.
 */
export function flowSecretsOf(handle: string): FlowSecrets {
  const derive = (use: string): string => createHash('sha256').update(`faregate ${use} ${handle}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}
