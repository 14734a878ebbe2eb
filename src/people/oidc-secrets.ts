import { createHash } from 'node:crypto';

/** What one sign-in at a provider is recognised by when the browser comes back. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/**
 * Derived from the secret that the browser keeps in its cookie, and from nothing else: the database has no more than a hash of it,
 * and whoever has not got the cookie has not got a state that goes with it.
 */
export function flowSecretsOf(handle: string): FlowSecrets {
  const derive = (use: string): string => createHash('sha256').update(`faregate ${use} ${handle}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}
