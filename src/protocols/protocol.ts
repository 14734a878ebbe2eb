import type { Envelope } from '../errors/envelopes.ts';
import type { RateHeaders } from './rate-status.ts';

/** A protocol family: what its addresses and its providers have in common. */
export interface Protocol<Name extends string = string> {
  /** Its name in the configuration. */
  readonly name: Name;
  /** The errors of its addresses. */
  readonly envelope: Envelope;
  /** Which headers may carry the API key at its addresses (contract, section 5). */
  readonly credential: 'bearer' | 'bearer-or-x-api-key';
  /** The names under which it is mounted unless the configuration has others. */
  readonly defaultMounts: readonly string[];
  /** How a provider takes its credential unless the configuration says otherwise. */
  readonly providerAuth: 'bearer' | 'x-api-key';
  /** The version of a call whose client names none (contract, section 9); `null`: no version. */
  readonly defaultVersion: string | null;
  /** What is appended to a provider's base address, and the end of an address that has it already. */
  readonly appendedPath: { readonly path: string; readonly repeated: RegExp };
  /** The headers that tell its clients what is left of their limits by the minute. */
  readonly rateHeaders: RateHeaders;
  /** The input tokens of a picture in a request, until its provider reports usage. */
  readonly imageTokens: number;
}
