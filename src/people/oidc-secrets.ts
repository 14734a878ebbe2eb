import { createHash } from 'node:crypto';

/** The values that link the browser's return from the provider to the sign-in it began. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Derived from the secret in the browser's cookie, of which the database has only a hash; without it nobody can produce the state. */
export function flowSecretsOf(handle: string): FlowSecrets {
  const derive = (use: string): string => createHash('sha256').update(`faregate ${use} ${handle}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}
