import type { CallTerms } from '../call/terms.ts';
import type { CallEnvelope, Envelope } from '../errors/envelopes.ts';
import type { CredentialForms } from '../http/credentials.ts';
import type { Query } from '../queries/query.ts';

/** An address that calls a provider and charges for it. */
export interface CallEndpoint extends CallTerms {
  readonly path: string;
  readonly envelope: CallEnvelope;
  readonly method: 'POST';
  readonly credential: CredentialForms;
  readonly bodyLimitBytes: number;
}

/** An address that answers from what the gateway itself knows, at no charge. */
export interface QueryEndpoint {
  readonly path: string;
  readonly envelope: Envelope;
  readonly method: 'GET';
  /** `none`: anybody may ask. */
  readonly credential: CredentialForms | 'none';
  readonly query: Query;
}

/** A row of the endpoint table. */
export type Endpoint = CallEndpoint | QueryEndpoint;
