import type { CallTerms } from '../call/terms.ts';
import type { Envelope } from '../errors/envelopes.ts';
import type { CredentialForms } from '../http/credentials.ts';
import type { Query } from '../queries/query.ts';

interface EndpointBase {
  readonly path: string;
  readonly envelope: Envelope;
  readonly credential: CredentialForms;
}

/** An address that calls a provider and charges for it. */
export interface CallEndpoint extends EndpointBase, CallTerms {
  readonly method: 'POST';
  readonly bodyLimitBytes: number;
}

/** An address that answers from what the gateway itself knows, at no charge. */
export interface QueryEndpoint extends EndpointBase {
  readonly method: 'GET';
  readonly query: Query;
}

/** A row of the endpoint table. */
export type Endpoint = CallEndpoint | QueryEndpoint;
