import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import { errors } from '../../lib/http-client.ts';
import type { RetryTerms } from '../../providers/catalog/attempt-terms.ts';
import type { Route } from '../../providers/catalog/catalog.ts';
import {
  connectionFailure,
  SilenceError,
  successBrokenOff,
  type UpstreamFailure,
  unusableSuccess,
} from '../../providers/upstream/failure.ts';
import { refusalFailure } from '../../providers/upstream/refusal.ts';
import { fallbackReasonOf, RouteQueue, retriedFailureOf } from './further-attempts.ts';

const refused = (status: number, error: object = { message: 'No.' }): UpstreamFailure =>
  refusalFailure({ status, headers: {} }, Buffer.from(JSON.stringify({ error })), [], 'r');
const errorOf = (code: string): Error => Object.assign(new Error('broken'), { code });
const away = connectionFailure(errorOf('ECONNREFUSED'), false);
const reset = connectionFailure(errorOf('ECONNRESET'), true);
const signature = refused(400, { message: 'messages.1: Invalid `signature` in `thinking` block' });

describe('what settings call a failure', () => {
  const failures: Record<string, readonly [error: unknown, retried: string | null, reason: string | null]> = {
    'a 500': [refused(500), '500', null],
    'a 502': [refused(502), '502', null],
    'a 503': [refused(503), '503', 'unavailable'],
    'a 429': [refused(429), null, 'unavailable'],
    'a 400': [refused(400), null, null],
    'a status that no setting names': [refused(507), null, null],
    'no connection': [away, null, 'unavailable'],
    'a reset': [reset, 'reset', null],
    // `instanceof` finds every error of undici with the code of a class.
    'a timeout': [connectionFailure(new errors.HeadersTimeoutError(), true), 'timeout', null],
    'a silence': [connectionFailure(new SilenceError(), true), 'silence', null],
    'a reset after a part of the response': [successBrokenOff(reset), null, null],
    'an unusable success': [unusableSuccess('r'), null, null],
    'a refused signature': [signature, null, null],
    'no healthy route': [new GatewayError('noHealthyRoute'), null, 'unavailable'],
    'routes without weight': [new GatewayError('routePolicyInvalid'), null, 'unavailable'],
    'a refusal of the gateway': [new GatewayError('insufficientBalance'), null, null],
    'an error of the gateway': [new Error('bug'), null, null],
    'a context that is too long': [refused(400, { message: 'prompt is too long: 210000 tokens' }), null, 'context'],
    'a request that is too large': [refused(413, { message: 'Input is too long.' }), null, 'context'],
    'a limit on tokens per minute': [refused(429, { message: 'too many tokens' }), null, 'unavailable'],
    'a content filter by code': [refused(400, { message: 'No.', code: 'data_inspection_failed' }), null, 'filter'],
    'a content filter by type': [refused(403, { message: 'No.', type: 'content_policy_violation' }), null, 'filter'],
    'a content filter by words': [refused(400, { message: 'Content Exists Risk' }), null, 'filter'],
    'a 403 about something else': [refused(403, { message: 'Not in this project.' }), null, 'unavailable'],
  };
  for (const [name, [error, retried, reason]] of Object.entries(failures)) {
    it(name, () => {
      assert.deepEqual([retriedFailureOf(error), fallbackReasonOf(error)], [retried, reason]);
    });
  }
});

describe('the queue of routes', () => {
  const routes = (...ids: readonly string[]): Route[] => ids.map((id) => ({ id }) as Route);
  const retry = (attemptsMax: number): RetryTerms => ({
    on: new Set(['500', '503', 'reset']),
    attemptsMax,
    firstByteMs: 7,
    includesImages: false,
  });

  /** Sends a call with these failures in turn; returns the routes that are tried, and `!` after each lost attempt. */
  function run(queue: RouteQueue, ...failures: readonly unknown[]): string {
    const tried: string[] = [];
    let failure: unknown = null;
    for (const next of failures) {
      const route = queue.next(failure);
      if (route === null) break;
      tried.push(route.id);
      failure = next;
      if (next === null) break;
      const step = queue.after(route, next);
      if (step === 'over') break;
      if (step === 'lost') tried.push('!');
    }
    return tried.join(' ');
  }

  it('without settings, tries each route once, and none after an unknown outcome', () => {
    assert.equal(run(new RouteQueue(routes('a', 'b'), [], null), away, refused(503), null), 'a b');
    assert.equal(run(new RouteQueue(routes('a', 'b'), [], null), reset, null), 'a');
  });

  it('the signer’s drained routes are tried only after a refused signature', () => {
    assert.equal(run(new RouteQueue(routes('a'), routes('s'), null), signature, null), 'a s');
    assert.equal(run(new RouteQueue(routes('a'), routes('s'), null), away, null), 'a');
  });

  it('the next route comes before the same one again', () => {
    assert.equal(run(new RouteQueue(routes('a', 'b'), [], retry(1)), reset, null), 'a ! b');
    assert.equal(run(new RouteQueue(routes('a', 'b'), [], retry(1)), reset, away, null), 'a ! b a');
    assert.equal(run(new RouteQueue(routes('a'), [], retry(1)), reset, null), 'a ! a');
  });

  it('the number of further attempts is limited', () => {
    assert.equal(run(new RouteQueue(routes('a'), [], retry(1)), reset, refused(500), null), 'a ! a');
    assert.equal(run(new RouteQueue(routes('a'), [], retry(2)), reset, refused(500), refused(500), null), 'a ! a ! a');
  });

  it('a certain refusal counts only if no other route is left, and loses nothing', () => {
    assert.equal(run(new RouteQueue(routes('a', 'b'), [], retry(1)), refused(503), reset, null), 'a b ! b');
    assert.equal(run(new RouteQueue(routes('a'), [], retry(1)), refused(503), null), 'a a');
  });

  it('limits the silence of all attempts but the last one', () => {
    const queue = new RouteQueue(routes('a'), [], retry(1));
    const route = queue.next(null)!;
    assert.equal(queue.firstByteMs, 7);
    queue.after(route, reset);
    assert.equal(queue.firstByteMs, null);
  });
});
