import { createHash } from 'node:crypto';

/** The values that connect the browser's return from the provider with the sign-in that the browser began. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/**
 * Derives the values from the secret in the browser's cookie. The database contains only a hash of the secret, so nobody can compute the values
 * without the cookie.
 */
export function flowSecretsOf(handle: string): FlowSecrets {
  const derive = (use: string): string => createHash('sha256').update(`faregate ${use} ${handle}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}
