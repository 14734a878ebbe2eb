import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import { allConnectionsInUse, connectionFailure, givenUpUnsent, UpstreamFailure } from './failure.ts';

const errorWith = (code: string): Error => Object.assign(new Error(`failed: ${code}`), { code });

describe('connectionFailure', () => {
  const shown = (error: Error, wasSent: boolean): unknown[] => {
    const { certainty, response } = connectionFailure(error, wasSent);
    return [certainty, response.kind, response.status, response.retry];
  };

  it('did not reach the provider if nothing was sent, whatever the error', () => {
    for (const code of [
      'ECONNREFUSED',
      'ENOTFOUND',
      'UND_ERR_CONNECT_TIMEOUT',
      'ETIMEDOUT',
      'UND_ERR_HEADERS_TIMEOUT',
    ]) {
      assert.deepEqual(shown(errorWith(code), false), ['notSent', 'upstreamNotReached', 502, 'yes']);
    }
  });

  it('has an unknown outcome after bytes were sent, and no retry is advised', () => {
    for (const error of [errorWith('ECONNRESET'), errorWith('UND_ERR_SOCKET'), new Error('no code')]) {
      assert.deepEqual(shown(error, true), ['unknown', 'upstreamError', 502, 'no']);
    }
  });

  it('is a timeout if the provider was silent for too long', () => {
    for (const code of ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']) {
      assert.deepEqual(shown(errorWith(code), true), ['unknown', 'upstreamTimeout', 504, 'no']);
    }
  });

  it('did not run if HTTP/2 guarantees so, unless a response had begun', () => {
    const refused = Object.assign(new Error('Stream closed'), { http2ErrorCode: 7 });
    const goneAway = new Error('HTTP/2: "GOAWAY" frame received with code 0');
    for (const error of [refused, goneAway]) {
      const failure = connectionFailure(error, true);
      assert.deepEqual([failure.certainty, failure.response.kind], ['notSent', 'upstreamNotReached']);
      assert.match(failure.response.message, /rejected the call before processing it/);
      assert.equal(connectionFailure(error, true, true).certainty, 'unknown');
    }
    const cancelled = Object.assign(new Error('Stream closed'), { http2ErrorCode: 8 });
    assert.equal(connectionFailure(cancelled, true).certainty, 'unknown');
  });

  it('keeps the cause for the log and out of the response', () => {
    const reason = errorWith('ECONNRESET');
    const failure = connectionFailure(reason, true);
    assert.equal(failure.cause, reason);
    assert.equal(failure.response.cause, reason);
    assert.doesNotMatch(failure.response.message, /ECONNRESET/);
  });
});

describe('a call that the gateway itself did not send', () => {
  it('was not sent, and does not count against the route', () => {
    for (const failure of [allConnectionsInUse(), givenUpUnsent()]) {
      assert.deepEqual([failure.certainty, failure.response.retry, failure.blamesRoute], ['notSent', 'yes', false]);
    }
    assert.equal(connectionFailure(errorWith('ECONNREFUSED'), false).blamesRoute, true);
  });
});

describe('UpstreamFailure', () => {
  it('has the reason of a refusal, if there was one', () => {
    const refusal = { reason: 'rate', status: 429 } as const;
    const refused = new UpstreamFailure('refused', new GatewayError('upstreamRefused'), undefined, { refusal });
    assert.deepEqual(refused.refusal, refusal);
    assert.equal(connectionFailure(errorWith('ECONNRESET'), true).refusal, null);
  });

  it('has its certainty, and no reason by default', () => {
    const failure = new UpstreamFailure('refused', new GatewayError('upstreamInvalid'));
    assert.match(failure.message, /^upstream failure \(refused\): The provider gave a response/);
    assert.equal('cause' in failure, false);
  });
});
