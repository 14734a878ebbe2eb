import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Passage } from '../routing/health.ts';
import { connectionFailure, UpstreamFailure } from '../upstream/failure.ts';
import type { AttemptResult } from './attempt.ts';
import { mayTryAnother, tellFailure, tellResult } from './failover.ts';

/** What a passage was told, in order. */
function listen(tell: (passage: Passage) => void): string[] {
  const told: string[] = [];
  tell({
    began: () => told.push('began'),
    succeeded: () => told.push('succeeded'),
    failed: (reason) => told.push(`failed: ${reason}`),
    ended: () => told.push('ended'),
  });
  return told;
}

const refused = (status: number): UpstreamFailure =>
  new UpstreamFailure('refused', new GatewayError('upstreamRefused', { status, code: 'their_code' }));
const errorOf = (code: string): Error => Object.assign(new Error('broken'), { code });
const invalid = (certainty: 'refused' | 'unknown'): UpstreamFailure =>
  new UpstreamFailure(certainty, new GatewayError('upstreamInvalid'));

interface Row {
  readonly error: unknown;
  readonly isTriedElsewhere: boolean;
  readonly told: readonly string[];
}

const failures: Record<string, Row> = {
  ...Object.fromEntries(
    ['ECONNREFUSED', 'ENOTFOUND', 'ECONNRESET', 'CERT_HAS_EXPIRED', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'].map(
      (code) => [
        `no connection (${code})`,
        { error: connectionFailure(errorOf(code), false), isTriedElsewhere: true, told: ['failed: upstream_error'] },
      ],
    ),
  ),
  'a 429': { error: refused(429), isTriedElsewhere: true, told: ['succeeded'] },
  'a 503': { error: refused(503), isTriedElsewhere: true, told: ['failed: status 503'] },
  'a 529': { error: refused(529), isTriedElsewhere: true, told: ['failed: status 529'] },
  ...Object.fromEntries(
    [500, 501, 502, 504, 520, 599].map((status) => [
      `a ${status}`,
      { error: refused(status), isTriedElsewhere: false, told: [`failed: status ${status}`] },
    ]),
  ),
  ...Object.fromEntries(
    [400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 499].map((status) => [
      `a ${status}`,
      { error: refused(status), isTriedElsewhere: false, told: ['succeeded'] },
    ]),
  ),
  'a reset after the call was sent': {
    error: connectionFailure(errorOf('ECONNRESET'), true),
    isTriedElsewhere: false,
    told: ['failed: upstream_error'],
  },
  ...Object.fromEntries(
    ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'].map((code) => [
      `too late after the call was sent (${code})`,
      { error: connectionFailure(errorOf(code), true), isTriedElsewhere: false, told: ['failed: upstream_timeout'] },
    ]),
  ),
  'a 200 that is no answer': { error: invalid('unknown'), isTriedElsewhere: false, told: [] },
  'a redirect': { error: invalid('refused'), isTriedElsewhere: false, told: [] },
  'a failure of the gateway': { error: new GatewayError('settlementFailed'), isTriedElsewhere: false, told: [] },
  'a bug': { error: new TypeError('x is undefined'), isTriedElsewhere: false, told: [] },
};

describe('failover', () => {
  for (const [what, { error, isTriedElsewhere, told }] of Object.entries(failures)) {
    it(`${what}: ${isTriedElsewhere ? 'another route is tried' : 'no other route is tried'}`, () => {
      assert.equal(mayTryAnother(error), isTriedElsewhere);
    });

    it(`${what}: the route's health is told ${told[0] ?? 'nothing'}`, () => {
      assert.deepEqual(
        listen((passage) => tellFailure(passage, error)),
        told,
      );
    });
  }

  const result = (status: AttemptResult['status'], error: GatewayError | null): AttemptResult => ({
    status,
    usage: null,
    httpStatus: 200,
    error,
    requestId: 'r',
    firstByteAtMs: null,
    affinityKeys: [],
  });

  const results: Record<string, { result: AttemptResult; told: readonly string[] }> = {
    'a success': { result: result('succeeded', null), told: ['succeeded'] },
    'a stream that breaks off': {
      result: result('aborted', new GatewayError('streamBroken')),
      told: ['failed: upstream_error'],
    },
    'a stream that stalls': {
      result: result('aborted', new GatewayError('streamStalled')),
      told: ['failed: upstream_timeout'],
    },
    'a client that leaves': { result: result('aborted', null), told: [] },
  };
  for (const [what, row] of Object.entries(results)) {
    it(`${what}: the route's health is told ${row.told[0] ?? 'nothing'}`, () => {
      assert.deepEqual(
        listen((passage) => tellResult(passage, row.result)),
        row.told,
      );
    });
  }
});
