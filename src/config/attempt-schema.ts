import { streamedOperationNames } from '../protocols/operations/all.ts';
import { durationMs, listOf, name, oneOf, section, trueOrFalse, wholeNumber } from './fields.ts';

/** This file has the keys about silent, failed and closed routes (`docs/routing.md`). All of them are off by default. */

/** Failures that `retry.on` can name: statuses of a provider, and failures without one. */
export const RETRIED_FAILURES = [
  ...(['500', '502', '503', '504', '520', '522', '524', '529'] as const),
  ...(['timeout', 'reset', 'silence'] as const),
] as const;
export type RetriedFailure = (typeof RETRIED_FAILURES)[number];

/** Failures that `fallbackOn` can name. */
export const FALLBACK_REASONS = ['unavailable', 'context', 'filter'] as const;
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

const keepAlive = (before: string) => section({ before: durationMs.describe(before) }).optional();

const keepAliveOfOperation = keepAlive('`keepAlive.before` of models without one, for streams of this operation.');

/** The key of `server` about silent streams. */
export const keepAliveOfOperations = section(
  Object.fromEntries(streamedOperationNames.map((name) => [name, keepAliveOfOperation])) as Record<
    (typeof streamedOperationNames)[number],
    typeof keepAliveOfOperation
  >,
);

/** The keys of a model and of a group about other models. */
export const fallbackKeys = {
  fallbacks: listOf('names of models', name)
    .optional()
    .describe('Models that serve the call, in this order, if no route of this model does.'),
  fallbackOn: listOf('at least one reason', oneOf(FALLBACK_REASONS), 1)
    .optional()
    .describe(
      'When a fallback serves the call: no route is available (`unavailable`, the default), the context is too long (`context`), or a content filter refused the request (`filter`).',
    ),
  fallbackCharge: oneOf(['served', 'asked'])
    .optional()
    .describe(
      'Whether the prices of the model that served the call apply (`served`, the default), or those of the requested one.',
    ),
};

/** The keys of a model. */
export const attemptKeys = {
  keepAlive: keepAlive(
    'A stream whose provider is silent for this long opens with status 200 and a comment, and gets a comment whenever it is silent for this long again. A later failure is an event in the stream.',
  ).describe('Comments that keep silent streams alive. Non-streaming responses stay as they are.'),
  retry: section({
    on: listOf('at least one failure', oneOf(RETRIED_FAILURES), 1).describe(
      'Failures after which the call might have run: statuses of the provider, `timeout` (of the provider), `reset` (of the connection) and `silence` (no byte within `firstByte`).',
    ),
    within: wholeNumber(1, 5)
      .default(1)
      .describe('Maximum number of further attempts of a call on the routes of this model.'),
    firstByte: durationMs
      .optional()
      .describe('Longest wait for the first byte of a response, if a further attempt is left. Required for `silence`.'),
    images: trueOrFalse.default(false).describe('Whether images are attempted again, too.'),
  })
    .optional()
    .describe(
      'Further attempts although the first one might have run. The vendor might bill each of them; the account is charged once.',
    ),
  ...fallbackKeys,
};
