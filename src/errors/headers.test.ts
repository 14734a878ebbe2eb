import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from './gateway-error.ts';
import { errorHeaders } from './headers.ts';

describe('error headers', () => {
  it('carry the code of the error', () => {
    assert.deepEqual(errorHeaders(new GatewayError('internal')), { 'x-error-code': 'internal_error' });
  });

  it('advise for or against a retry if the status is not enough', () => {
    assert.equal(errorHeaders(new GatewayError('upstreamNotReached'))['x-should-retry'], 'true');
    assert.equal(errorHeaders(new GatewayError('insufficientBalance'))['x-should-retry'], 'false');
    assert.equal('x-should-retry' in errorHeaders(new GatewayError('upstreamRefused')), false);
  });

  it('include the headers of the error, which cannot override the code', () => {
    const error = new GatewayError('upstreamRefused', {
      code: 'rate_limited',
      headers: { 'retry-after': '7', 'x-error-code': 'forged' },
    });
    assert.deepEqual(errorHeaders(error), { 'retry-after': '7', 'x-error-code': 'rate_limited' });
  });

  it('do not modify the headers of the error', () => {
    const headers = { 'retry-after': '7' };
    errorHeaders(new GatewayError('upstreamError', { headers }));
    assert.deepEqual(headers, { 'retry-after': '7' });
  });
});
