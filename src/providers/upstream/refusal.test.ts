import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it } from 'node:test';
import { errorHeaders } from '../../errors/headers.ts';
import { renderChat } from '../../protocols/chat/errors.ts';
import { renderMessages } from '../../protocols/messages/errors.ts';
import { providerRefusal, readErrorBody } from './refusal.ts';

const secrets = ['sk-provider-secret', 'api.acme.example:8443', 'api.acme.example'];

function refusalOf(status: number, body: unknown, headers: IncomingHttpHeaders = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return providerRefusal(status, headers, readErrorBody(Buffer.from(text), secrets), 'req_1');
}

describe("a provider's refusal", () => {
  it('keeps status, message, code and param of a chat error', () => {
    const error = refusalOf(400, {
      error: {
        message: 'max_tokens is too large',
        type: 'invalid_request_error',
        param: 'max_tokens',
        code: 'too_large',
      },
    });
    assert.equal(error.status, 400);
    assert.deepEqual(renderChat(error), {
      error: {
        message: 'max_tokens is too large',
        type: 'invalid_request_error',
        param: 'max_tokens',
        code: 'too_large',
      },
    });
    assert.equal(error.requestId, 'req_1');
  });

  it('keeps status, message, type and code of a messages error', () => {
    const error = refusalOf(413, {
      type: 'error',
      error: { type: 'request_too_large', message: 'prompt is too long', details: { error_code: 'ctx_limit' } },
      request_id: 'theirs',
    });
    assert.deepEqual(renderMessages(error, 'req_1'), {
      type: 'error',
      error: { type: 'request_too_large', message: 'prompt is too long', details: { error_code: 'ctx_limit' } },
      request_id: 'req_1',
    });
  });

  it('reads flat errors and plain text errors', () => {
    const flat = refusalOf(400, { type: 'bad', message: 'no such field', code: 'field' });
    assert.deepEqual([flat.message, flat.type, flat.code], ['no such field', 'bad', 'field']);
    assert.equal(refusalOf(404, { error: 'model "x" not found' }).message, 'model "x" not found');
  });

  it("keeps the message of Google's errors, whose code is the status, also in an array", () => {
    const error = { code: 400, message: 'Unknown name "x"', status: 'INVALID_ARGUMENT', details: [{ reason: 'BAD' }] };
    for (const body of [{ error }, [{ error }]]) {
      const { message, code } = refusalOf(400, body);
      assert.deepEqual([message, code], ['Unknown name "x"', 'invalid_request_error']);
    }
    assert.equal(refusalOf(400, []).message, 'The provider responded with status 400.');
  });

  it("does not confuse the outer type of a messages error with the error's type", () => {
    assert.equal(refusalOf(400, { type: 'error', message: 'flat' }).type, undefined);
  });

  for (const body of [
    '',
    '<html>502 Bad Gateway</html>',
    '[]',
    'null',
    '"text"',
    '{}',
    '{"error":null}',
    '{"error":{"message":""}}',
    '{"error":{"message":7}}',
    '{"error":{"mess',
  ]) {
    it(`finds the message in ${JSON.stringify(body)}`, () => {
      const error = refusalOf(503, body);
      assert.equal(error.message, 'The provider responded with status 503.');
      assert.equal(error.code, 'upstream_error');
      assert.equal(error.type, undefined);
      assert.equal(error.param, null);
    });
  }

  it('uses the code in the details if the error has no readable one', () => {
    const code = (error: object) => refusalOf(400, { error: { message: 'm', ...error } }).code;
    assert.equal(code({ code: 400, details: { error_code: 'from_details' } }), 'from_details');
    assert.equal(code({ code: 'own', details: { error_code: 'from_details' } }), 'own');
    assert.equal(code({ code: 'two words', details: ['x'] }), 'invalid_request_error');
    assert.equal(code({ code: 'x'.repeat(65) }), 'invalid_request_error');
  });

  it('ignores a type or code that is not a plain name', () => {
    const error = refusalOf(400, { error: { message: 'm', type: 'two words', param: 'x'.repeat(201) } });
    assert.equal(error.type, undefined);
    assert.equal(error.param, null);
    assert.equal(refusalOf(400, { error: { message: 'm', param: 'x'.repeat(200) } }).param, 'x'.repeat(200));
    assert.equal(refusalOf(400, { error: { message: 'm', type: 7, param: ['x'] } }).param, null);
  });

  const codes: readonly [status: number, code: string][] = [
    [400, 'invalid_request_error'],
    [401, 'upstream_error'],
    [403, 'permission_denied'],
    [404, 'model_not_found'],
    [409, 'conflict_error'],
    [413, 'request_too_large'],
    [422, 'unprocessable_entity'],
    [429, 'upstream_error'],
    [500, 'upstream_error'],
    [529, 'upstream_error'],
  ];
  for (const [status, code] of codes) {
    it(`has code ${code} if a ${status} has none`, () => {
      const error = refusalOf(status, {});
      assert.deepEqual([error.status, error.code], [status, code]);
    });
  }

  it('forwards safe headers only', () => {
    const error = refusalOf(
      429,
      {},
      { 'retry-after': '30', 'x-ratelimit-limit-requests': '5', 'set-cookie': ['a'], server: 's' },
    );
    assert.deepEqual(errorHeaders(error), {
      'retry-after': '30',
      'x-ratelimit-limit-requests': '5',
      'x-error-code': 'upstream_error',
    });
  });

  it("forwards the provider's retry advice", () => {
    const advice = (status: number, value: string) =>
      errorHeaders(refusalOf(status, {}, { 'x-should-retry': value }))['x-should-retry'];
    assert.equal(advice(429, 'true'), 'true');
    assert.equal(advice(429, 'false'), 'false');
    assert.equal(advice(502, 'true'), 'true');
    assert.equal(advice(429, 'perhaps'), undefined);
  });

  it('advises against a retry if a proxy of the provider lost the call', () => {
    const advice = (status: number) => errorHeaders(refusalOf(status, {}))['x-should-retry'];
    assert.deepEqual([502, 504].map(advice), ['false', 'false']);
    assert.deepEqual([400, 429, 500, 503, 529].map(advice), [undefined, undefined, undefined, undefined, undefined]);
  });

  it('names neither the provider nor its credential, whatever the source of the message', () => {
    const error = refusalOf(401, {
      error: {
        message: 'Bad key sk-provider-secret for https://api.acme.example:8443/v1/chat?key=1 on api.acme.example',
        param: 'api.acme.example',
        code: 'sk-provider-secret',
        type: 'api.acme.example',
      },
    });
    assert.equal(error.message, 'Bad key [key] for [address] on [provider]');
    for (const secret of secrets) {
      assert.doesNotMatch(
        JSON.stringify([renderChat(error), renderMessages(error, 'r'), errorHeaders(error)]),
        new RegExp(secret),
      );
    }
  });
});
