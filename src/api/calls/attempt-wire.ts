import { z } from 'zod';
import type { CallAttempt } from '../../accounting/calls/call-outcome.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { yuan } from '../management/response-fields.ts';

export const attempt = z.strictObject({
  no: z
    .int()
    .describe('Position among the attempts of the call; of many attempts, those before the last are left out.'),
  provider: z.string(),
  model: z.string().describe("The provider's name of the model."),
  credential: z.string().nullable().describe('The name of the credential; null: it is no longer in the configuration.'),
  startedMs: z.number().describe('Milliseconds from the start of the call.'),
  durationMs: z.number(),
  failure: z
    .enum(['connection', 'queue', 'refused', 'account', 'timeout', 'interrupted', 'unusable'])
    .nullable()
    .describe('Why the attempt failed; null: the provider answered.'),
  httpStatus: z.int().nullable().describe("The status of the provider's response."),
  words: z
    .string()
    .nullable()
    .describe('What the provider said, or the error of the connection: without secrets, at most 300 characters.'),
  isPrivate: z.boolean().describe('Whether account holders see neither status nor words.'),
  isLost: z.boolean().describe('Whether the attempt might have run although it failed, and another one followed.'),
  costAtMostYuan: yuan
    .nullable()
    .describe('What a lost attempt can have cost the operator; null: nothing, or the route has no cost prices.'),
});
type AttemptOnWire = z.infer<typeof attempt>;

export function attemptToWire(made: CallAttempt): AttemptOnWire {
  const { no, provider, model, credential = null, startedMs, durationMs, failure = null, words = null } = made;
  const { status: httpStatus = null, isPrivate = false, isLost = false, costAtMostNano } = made;
  const costAtMostYuan = costAtMostNano === undefined ? null : formatYuan(BigInt(costAtMostNano));
  const answer = { failure, httpStatus, words, isPrivate, isLost, costAtMostYuan };
  return { no, provider, model, credential, startedMs, durationMs, ...answer };
}

/**
 * An attempt as accounts see it. Who the providers are, which models and credentials the operator uses there, and what they say about the
 * operator's account are the operator's business; so are errors of connections, which contain addresses.
 */
export const ownAttempt = attempt.pick({
  no: true,
  startedMs: true,
  durationMs: true,
  failure: true,
  httpStatus: true,
  words: true,
});

export function toOwnAttempt({
  no,
  startedMs,
  durationMs,
  failure,
  ...answer
}: AttemptOnWire): z.infer<typeof ownAttempt> {
  const { httpStatus, words } = answer.isPrivate ? { httpStatus: null, words: null } : answer;
  return { no, startedMs, durationMs, failure, httpStatus, words };
}
