import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { RoutePermit } from '../../providers/routing/health.ts';
import { connectionFailure, type UpstreamFailure, unusableSuccess } from '../../providers/upstream/failure.ts';
import { refusalFailure } from '../../providers/upstream/refusal.ts';
import type { CallEnd } from '../call-end.ts';
import { decisiveFailure, mayHaveRun, mayTryAnother, reportFailure, reportResult } from './failover.ts';

/** The reports to a permit in order. */
function listen(report: (permit: RoutePermit) => void): string[] {
  const reported: string[] = [];
  report({
    began: () => reported.push('began'),
    succeeded: () => reported.push('succeeded'),
    failed: (reason, kind) => reported.push(`failed ${kind}: ${reason}`),
    ended: () => reported.push('ended'),
  });
  return reported;
}

const refused = (status: number, error: object = { message: 'No.', code: 'their_code' }): UpstreamFailure =>
  refusalFailure({ status, headers: {} }, Buffer.from(JSON.stringify({ error })), [], 'r');
const errorOf = (code: string): Error => Object.assign(new Error('broken'), { code });

interface Row {
  readonly error: unknown;
  readonly isTriedElsewhere: boolean;
  readonly reported: readonly string[];
}

const failures: Record<string, Row> = {
  ...Object.fromEntries(
    ['ECONNREFUSED', 'ENOTFOUND', 'ECONNRESET', 'CERT_HAS_EXPIRED', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'].map(
      (code) => [
        `no connection (${code})`,
        {
          error: connectionFailure(errorOf(code), false),
          isTriedElsewhere: true,
          reported: ['failed connection: upstream_error'],
        },
      ],
    ),
  ),
  ...Object.fromEntries(
    [401, 402].map((status) => [
      `a ${status}`,
      { error: refused(status), isTriedElsewhere: true, reported: [`failed operator: status ${status}`] },
    ]),
  ),
  'a 429 about the account of the operator': {
    error: refused(429, { message: 'Pay.', type: 'insufficient_quota' }),
    isTriedElsewhere: true,
    reported: ['failed operator: status 429'],
  },
  'a 403': { error: refused(403), isTriedElsewhere: true, reported: ['succeeded'] },
  'a 404 about the model': {
    error: refused(404, { message: 'The model x does not exist.', code: 'model_not_found' }),
    isTriedElsewhere: true,
    reported: ['failed response: status 404'],
  },
  'a 400 about a signature': {
    error: refused(400, { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' }),
    isTriedElsewhere: true,
    reported: ['succeeded'],
  },
  'a 429': { error: refused(429), isTriedElsewhere: true, reported: ['succeeded'] },
  'a 503': { error: refused(503), isTriedElsewhere: true, reported: ['failed response: status 503'] },
  'a 529': { error: refused(529), isTriedElsewhere: true, reported: ['failed response: status 529'] },
  ...Object.fromEntries(
    [500, 501, 502, 504, 520, 599].map((status) => [
      `a ${status}`,
      { error: refused(status), isTriedElsewhere: false, reported: [`failed response: status ${status}`] },
    ]),
  ),
  ...Object.fromEntries(
    [400, 404, 408, 409, 413, 422, 425, 499].map((status) => [
      `a ${status}`,
      { error: refused(status), isTriedElsewhere: false, reported: ['succeeded'] },
    ]),
  ),
  'a reset after the call was sent': {
    error: connectionFailure(errorOf('ECONNRESET'), true),
    isTriedElsewhere: false,
    reported: ['failed response: upstream_error'],
  },
  ...Object.fromEntries(
    ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'].map((code) => [
      `a timeout after the call was sent (${code})`,
      {
        error: connectionFailure(errorOf(code), true),
        isTriedElsewhere: false,
        reported: ['failed response: upstream_timeout'],
      },
    ]),
  ),
  'a 200 that is no response of the protocol': { error: unusableSuccess('r'), isTriedElsewhere: false, reported: [] },
  'a redirect': { error: refused(302), isTriedElsewhere: false, reported: [] },
  'a failure of the gateway': { error: new GatewayError('settlementFailed'), isTriedElsewhere: false, reported: [] },
  'a bug': { error: new TypeError('x is undefined'), isTriedElsewhere: false, reported: [] },
};

describe('failover', () => {
  for (const [what, { error, isTriedElsewhere, reported }] of Object.entries(failures)) {
    it(`${what}: ${isTriedElsewhere ? 'another route is tried' : 'no other route is tried'}`, () => {
      assert.equal(mayTryAnother(error), isTriedElsewhere);
    });

    it(`${what}: the breakers get ${reported[0] ?? 'nothing'}`, () => {
      assert.deepEqual(
        listen((permit) => reportFailure(permit, error)),
        reported,
      );
    });
  }

  describe('the failure that the client gets', () => {
    const foreign = refused(400, { message: 'No.', code: 'invalid_encrypted_content' });
    const [busy, invalid] = [refused(429), refused(400)];

    it('is the failure of the last route', () => {
      assert.equal(decisiveFailure([busy, invalid], true), invalid);
      assert.equal(decisiveFailure([foreign, busy], true), busy);
      assert.equal(decisiveFailure([], true), null);
    });

    it('is not the refusal of a signature if another route may accept it later', () => {
      assert.equal(decisiveFailure([busy, foreign], false), busy);
      assert.equal(decisiveFailure([foreign, busy, foreign], false), busy);
      assert.equal(decisiveFailure([foreign], true), null);
    });

    it('is the refusal of a signature if all routes refuse it', () => {
      const last = refused(400, { message: 'No.', code: 'invalid_encrypted_content' });
      assert.equal(decisiveFailure([foreign, last], false), last);
    });

    it('is the refusal of a signature if no other route will accept it', () => {
      assert.equal(decisiveFailure([refused(403), foreign], false), foreign);
      assert.equal(
        decisiveFailure([refused(404, { message: 'The model x does not exist.' }), foreign], false),
        foreign,
      );
    });
  });

  it('treats a call that was refused for the account of the operator as not executed', () => {
    for (const status of [401, 402, 403, 429]) assert.equal(mayHaveRun(refused(status)), false, String(status));
    for (const status of [302, 502, 504]) assert.equal(mayHaveRun(refused(status)), true, String(status));
  });

  type Result = Pick<CallEnd, 'status' | 'error'>;
  const result = (status: CallEnd['status'], error: GatewayError | null): Result => ({ status, error });

  const results: Record<string, { result: Result; reported: readonly string[] }> = {
    'a success': { result: result('succeeded', null), reported: ['succeeded'] },
    'a stream that breaks off': {
      result: result('aborted', new GatewayError('streamBroken')),
      reported: ['failed response: upstream_error'],
    },
    'a stream that stalls': {
      result: result('aborted', new GatewayError('streamStalled')),
      reported: ['failed response: upstream_timeout'],
    },
    'a client that leaves': { result: result('aborted', null), reported: [] },
  };
  for (const [what, row] of Object.entries(results)) {
    it(`${what}: the breakers get ${row.reported[0] ?? 'nothing'}`, () => {
      assert.deepEqual(
        listen((permit) => reportResult(permit, row.result)),
        row.reported,
      );
    });
  }
});
