import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../accounts/principals.ts';
import type { Claim } from '../idempotency/kept-answers.ts';
import type { CallInput } from '../operations/operation.ts';
import type { Client } from './client.ts';
import type { Settings } from './settings.ts';
import type { CallTerms } from './terms.ts';

/** A request whose sender is known and whose body is in and checked. */
export interface CallRequest {
  readonly terms: CallTerms;
  readonly principal: Principal;
  readonly headers: IncomingHttpHeaders;
  readonly input: CallInput;
  readonly requestId: string;
  readonly client: Client;
  /** The configuration in force when the call began. */
  readonly settings: Settings;
  /** Keeps what the call comes to for its repeats. */
  readonly claim?: Claim;
}
