import type { Envelope } from '../errors/envelopes.ts';

/** A wire family: what its addresses have in common, and the providers that speak it. */
export interface Protocol<Name extends string = string> {
  /** As the configuration has it. */
  readonly name: Name;
  /** The errors of its addresses. */
  readonly envelope: Envelope;
  /** Which headers may carry the API key at its addresses (contract, section 5). */
  readonly credential: 'bearer' | 'bearer-or-x-api-key';
  /** The names that it is mounted under unless the configuration says others. */
  readonly defaultMounts: readonly string[];
  /** How a provider takes its key unless the configuration says otherwise. */
  readonly providerAuth: 'bearer' | 'x-api-key';
  /** The version that a call has whose client names none (contract, section 9); `null`: it has none. */
  readonly defaultVersion: string | null;
  /** What is appended to a provider's base address, and the end of an address that has it already. */
  readonly appendedPath: { readonly path: string; readonly repeated: RegExp };
  /** What a picture of a request counts as input, in tokens, until its provider says. */
  readonly imageTokens: number;
}
