import { createHash } from 'node:crypto';

/** The values that link the browser's return from the provider to the sign-in it began. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/**
 * Derives the values from the secret in the browser's cookie. The database stores only a hash of that secret, so nobody without the cookie
 * can produce a matching state.
 */
export function flowSecretsOf(handle: string): FlowSecrets {
  const derive = (use: string): string => createHash('sha256').update(`faregate ${use} ${handle}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}
