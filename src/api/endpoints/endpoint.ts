import type { Context, EndpointPolicy } from '../../calls/endpoint-policy.ts';
import type { Envelope } from '../../errors/envelopes.ts';
import type { CredentialForms } from '../../http/credentials.ts';
import type { Estimate } from '../../protocols/operations/estimate.ts';
import type { JsonOperation, UploadOperation } from '../../protocols/operations/operation.ts';
import type { Query } from '../queries/query.ts';

/** An address that calls a provider and charges for it. */
export interface CallEndpoint extends EndpointPolicy {
  readonly path: string;
  readonly envelope: Envelope;
  readonly method: 'POST';
  readonly credential: CredentialForms;
  readonly operation: JsonOperation | UploadOperation;
  /** Of the decoded body. */
  readonly bodyLimitBytes: number;
}

/** An address that estimates the tokens of a request, at no charge and without a provider. */
export interface EstimateEndpoint {
  readonly path: string;
  readonly envelope: Envelope;
  readonly method: 'POST';
  readonly credential: CredentialForms;
  readonly context: Context;
  readonly estimate: Estimate;
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
export type Endpoint = CallEndpoint | EstimateEndpoint | QueryEndpoint;
