import type { Operation } from '../protocols/operations/operation.ts';

/** Which money a call is charged to; the address decides, and a call never switches (contract, section 1). */
export type Context = 'balance' | 'coding';

/** What the address that was called settles about a call. */
export interface EndpointPolicy {
  readonly context: Context;
  readonly operation: Operation;
  /** With which status a lack of money is refused (design 5.2). */
  readonly moneyStatus: 402 | 429;
}
