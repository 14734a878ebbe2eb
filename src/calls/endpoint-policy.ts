import type { Operation } from '../protocols/operations/operation.ts';

/** What pays for a call. The address decides, and a call never switches (contract 1). */
export type Context = 'balance' | 'coding';

/** What an endpoint sets for its calls. */
export interface EndpointPolicy {
  readonly context: Context;
  readonly operation: Operation;
  /** The status of a refusal for lack of money (contract 7). */
  readonly moneyStatus: 402 | 429;
}
