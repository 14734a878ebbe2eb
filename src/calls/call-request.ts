import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../accounting/accounts/principals.ts';
import type { Claim } from '../accounting/repeats/stored-responses.ts';
import type { CallInput } from '../protocols/operations/operation.ts';
import type { CallReport } from './call-report.ts';
import type { EndpointPolicy } from './endpoint-policy.ts';
import type { Client } from './relay/client.ts';
import type { Settings } from './settings.ts';

/** A request whose credential is known and whose body is received and checked. */
export interface CallRequest {
  readonly policy: EndpointPolicy;
  readonly principal: Principal;
  readonly headers: IncomingHttpHeaders;
  readonly input: CallInput;
  readonly requestId: string;
  readonly client: Client;
  /** The configuration in force when the call began. */
  readonly settings: Settings;
  /** What the call notes of itself. */
  readonly report: CallReport;
  /** The claim of an idempotent call, which stores its response for repeats; `null`: it is none. */
  readonly claim: Claim | null;
}
