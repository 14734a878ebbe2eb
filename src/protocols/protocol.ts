import type { Envelope } from '../errors/envelopes.ts';
import type { RateHeaders } from './rate-status.ts';

/** What the endpoints and providers of a protocol have in common. */
export interface Protocol<Name extends string = string> {
  readonly name: Name;
  readonly envelope: Envelope;
  /** Headers in which endpoints accept an API key (contract, section 5). */
  readonly credential: 'bearer' | 'bearer-or-x-api-key';
  readonly defaultMounts: readonly string[];
  readonly providerAuth: 'bearer' | 'x-api-key';
  /** Version of the protocol if the client names none (contract, section 9); `null`: the protocol has no versions. */
  readonly defaultVersion: string | null;
  /** Path that is appended to a provider's base URL. `repeated`: pattern of base URLs that already end with it. */
  readonly appendedPath: { readonly path: string; readonly repeated: RegExp };
  readonly rateHeaders: RateHeaders;
  /** Estimated input tokens of an image, used until the provider reports usage. */
  readonly imageTokens: number;
}
