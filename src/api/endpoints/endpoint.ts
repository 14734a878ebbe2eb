import type { Context, EndpointPolicy } from '../../calls/call-request.ts';
import type { Envelope } from '../../errors/envelopes.ts';
import type { CredentialForms } from '../../http/credentials.ts';
import type { Estimate } from '../../protocols/operations/estimate.ts';
import type { JsonOperation, UploadOperation } from '../../protocols/operations/operation.ts';
import type { Query } from '../queries/query.ts';

export interface CallEndpoint extends EndpointPolicy {
  readonly path: string;
  readonly envelope: Envelope;
  readonly method: 'POST';
  readonly credential: CredentialForms;
  readonly operation: JsonOperation | UploadOperation;
  /** Maximum size of the body after decompression. */
  readonly bodyLimitBytes: number;
}

/** An endpoint that estimates tokens. It is free of charge and calls no provider. */
export interface EstimateEndpoint {
  readonly path: string;
  readonly envelope: Envelope;
  readonly method: 'POST';
  readonly credential: CredentialForms;
  readonly context: Context;
  readonly estimate: Estimate;
  readonly bodyLimitBytes: number;
}

export interface QueryEndpoint {
  readonly path: string;
  readonly envelope: Envelope;
  readonly method: 'GET';
  readonly credential: CredentialForms | 'none';
  readonly query: Query;
}

export type Endpoint = CallEndpoint | EstimateEndpoint | QueryEndpoint;
