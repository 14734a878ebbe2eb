import { fallbackReasonOf, RouteQueue, retriedFailureOf } from '../src/calls/relay/further-attempts.ts';
import { RETRIED_FAILURES } from '../src/config/attempt-schema.ts';
import { GatewayError } from '../src/errors/gateway-error.ts';
import type { Route } from '../src/providers/catalog/catalog.ts';
import { connectionFailure, SilenceError, unusableSuccess } from '../src/providers/upstream/failure.ts';
import { refusalFailure } from '../src/providers/upstream/refusal.ts';

/** Every kind of failure, and what follows from it with each setting of a model. The decisions are those of the gateway. */

/** What follows from a failure of the only route of a model, before a byte of a response has reached the client. */
export type Consequence = 'failure' | 'again' | 'fallback';

export interface FailureRow {
  readonly name: string;
  readonly text: string;
  /** Whether another route is tried, if there is one. */
  readonly isTriedElsewhere: boolean;
  /** The word of `retry.on` that names the failure; `null`: none. */
  readonly retried: string | null;
  /** The word of `fallbackOn` that names the failure; `null`: none. */
  readonly reason: string | null;
  /** The status that the client gets if nothing else serves the call. */
  readonly status: number;
}

const refused = (status: number, error: object): unknown =>
  refusalFailure({ status, headers: {} }, Buffer.from(JSON.stringify({ error })), [], 'req_1');

const lost = (code: string): Error => Object.assign(new Error(code), { code });

/** Bodies of refusals, by the name of their row. */
export const REFUSALS: Readonly<Record<string, readonly [status: number, error: object]>> = {
  'account-refused': [401, { message: 'Incorrect API key provided.' }],
  permission: [403, { message: 'Not for this project.' }],
  'no-model': [404, { message: 'The model `m` does not exist.' }],
  signature: [400, { message: 'messages.1: Invalid `signature` in `thinking` block' }],
  rate: [429, { message: 'Too many requests.' }],
  overloaded: [503, { message: 'Overloaded.' }],
  'overloaded-529': [529, { message: 'Overloaded.' }],
  fault: [500, { message: 'Internal error.' }],
  'proxy-502': [502, { message: 'Bad gateway.' }],
  'proxy-504': [504, { message: 'Gateway timeout.' }],
  context: [400, { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' }],
  filter: [400, { message: 'The request was filtered.', code: 'content_filter' }],
  invalid: [400, { message: 'Unknown parameter.' }],
};

const FAILURES: readonly (readonly [name: string, text: string, failure: unknown])[] = [
  ['no-connection', 'no connection to the provider', connectionFailure(lost('ECONNREFUSED'), false)],
  ['account-refused', "401, 402, and a 400 or 429 about the operator's account", null],
  ['permission', '403', null],
  ['no-model', '404 about the model', null],
  ['signature', '400 about a signature', null],
  ['rate', '429', null],
  ['overloaded', '503', null],
  ['overloaded-529', '529', null],
  ['fault', '500', null],
  ['proxy-502', '502', null],
  ['proxy-504', '504', null],
  ['timeout', 'a timeout of the provider', connectionFailure(lost('UND_ERR_HEADERS_TIMEOUT'), true)],
  ['silence', 'no byte within `retry.firstByte`', connectionFailure(new SilenceError(), true)],
  ['reset', 'the connection breaks after the call was sent', connectionFailure(lost('ECONNRESET'), true)],
  ['unusable', 'a 200 that cannot be read or charged', unusableSuccess('req_1')],
  ['context', '400 or 413: the context is too long', null],
  ['filter', '400, 403 or 422 of a content filter', null],
  ['invalid', 'any other 4xx', null],
  ['closed', 'no route is in service, or all have reached a limit', new GatewayError('noHealthyRoute')],
];

export const FAILURE_ROWS: readonly FailureRow[] = FAILURES.map(([name, text, given]) => {
  const failure = given ?? refused(...REFUSALS[name]!);
  const response = failure instanceof GatewayError ? failure : (failure as { response: GatewayError }).response;
  const after = (routes: readonly Route[], isRetried: boolean) => {
    const on = new Set(RETRIED_FAILURES);
    const retry = { on, attemptsMax: 1, firstByteMs: 1, includesImages: false };
    const queue = new RouteQueue(routes, [], isRetried ? retry : null);
    const first = queue.next(null)!;
    return { step: queue.after(first, failure), next: queue.next(failure) };
  };
  const [one, other] = [{ id: 'one' }, { id: 'other' }] as unknown as [Route, Route];
  const elsewhere = after([one, other], false);
  const again = after([one], true);
  return {
    name,
    text,
    isTriedElsewhere: elsewhere.step === 'next' && elsewhere.next === other,
    retried: again.step !== 'over' && again.next === one ? retriedFailureOf(failure) : null,
    reason: fallbackReasonOf(failure),
    status: response.status,
  };
});
