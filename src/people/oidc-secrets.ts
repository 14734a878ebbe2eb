import { createHash } from 'node:crypto';

/** These values bind the browser's return from the provider to the sign-in that it began. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/**
 * `handle`: the secret in the browser's cookie. The database contains only its hash, so the values cannot be computed without the cookie.
 */
export function flowSecretsOf(handle: string): FlowSecrets {
  const derive = (use: string): string => createHash('sha256').update(`faregate ${use} ${handle}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}
