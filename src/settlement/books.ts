import type { Billing } from '../billing/billing.ts';
import type { EndedCall } from '../billing/holds.ts';
import type { KeptAnswers } from '../idempotency/kept-answers.ts';
import type { KeyLimiter } from '../key-limits/key-limits.ts';
import type { Logger } from '../lib/logger.ts';
import type { Plans } from '../plans/plans.ts';
import type { Affinities } from '../routing/affinities.ts';
import type { CallEnding } from './ending.ts';

/** What the end of a call is written with. */
export interface BooksParts {
  readonly billing: Pick<Billing, 'end'>;
  readonly plans: Pick<Plans, 'end'>;
  readonly keys: Pick<KeyLimiter, 'end'>;
  readonly keptAnswers: Pick<KeptAnswers, 'keep'>;
  readonly affinities: Pick<Affinities, 'record'>;
  /** Whether an error came from the data of a call rather than from the connection. */
  readonly isDataFault: (error: unknown) => boolean;
  readonly logger: Logger;
}

/**
 * The charge and the record of a call are in the books; what it used of its plan or of its key's limits, or what later calls
 * may refer to, is not yet. It may
 * be delivered, and must not be withheld: it is paid for.
 */
export class HalfWrittenError extends Error {
  readonly ended: EndedCall;

  constructor(ended: EndedCall, options: ErrorOptions) {
    super('only the charge of a call could be stored', options);
    this.name = 'HalfWrittenError';
    this.ended = ended;
  }
}

/**
 * Writes the end of a call into the books, part by part: what is charged and recorded decides about the rest, and of a
 * repeat only the rest is left.
 *
 * @throws ClaimLostError, HalfWrittenError, or what kept the call from being charged and recorded.
 */
export function createBooksWriter(parts: BooksParts): (ending: CallEnding) => Promise<EndedCall> {
  const { billing, plans, keys, keptAnswers, affinities, isDataFault, logger } = parts;

  return async function writeBooks({ outcome, plan, key, kept, made }) {
    const { accountId, callId } = outcome;
    if (kept !== null) await keptAnswers.keep(kept);
    const recording = made && affinities.record(accountId, made.keys, made);
    // A failure is dealt with below, once the charge is in the books.
    recording?.catch(() => undefined);
    const ended = await billing.end(outcome);
    try {
      await recording;
      if (plan !== null) await plans.end({ accountId, callId, ...plan });
      if (key !== null) await keys.end({ accountId, callId, ...key });
    } catch (error) {
      if (!isDataFault(error)) throw new HalfWrittenError(ended, { cause: error });
      // The call has been charged as it should be, and no repeat would count it.
      logger.error({ err: error, callId }, 'what a call used of its plan or of its key could not be counted');
    }
    return ended;
  };
}
