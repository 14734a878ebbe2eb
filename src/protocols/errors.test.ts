import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adminEnvelope, catalogEnvelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { eventFields } from '../lib/sse/event-fields.ts';
import { protocols } from './all.ts';
import { chatEnvelope, chatStreamError, renderChat, usageEnvelope } from './chat/errors.ts';
import { messagesEnvelope, messagesStreamError, renderMessages } from './messages/errors.ts';
import { responsesEnvelope, responsesStreamError, typedStreamError } from './responses/errors.ts';

const withStatus = (status: number) => new GatewayError('upstreamRefused', { status });

describe('chat envelope', () => {
  it('has message, type, param and code', () => {
    const error = new GatewayError('invalidRequest', { message: 'Wrong.', param: 'n' });
    assert.deepEqual(renderChat(error), {
      error: { message: 'Wrong.', type: 'invalid_request_error', param: 'n', code: 'invalid_request_error' },
    });
    assert.equal(renderChat(new GatewayError('invalidRequest')).error.param, null);
  });

  it('has a type for every status', () => {
    const types: Readonly<Record<string, readonly number[]>> = {
      invalid_request_error: [400, 404, 405, 408, 413, 415, 422, 426, 431],
      authentication_error: [401],
      insufficient_quota: [402],
      permission_error: [403],
      conflict_error: [409],
      rate_limit_error: [429],
      api_error: [500, 502, 503, 504, 529],
    };
    for (const [type, statuses] of Object.entries(types)) {
      for (const status of statuses) assert.equal(renderChat(withStatus(status)).error.type, type, `${status}`);
    }
  });

  it('uses insufficient_quota for all refusals about money, whatever the status', () => {
    for (const status of [402, 429]) {
      assert.equal(renderChat(new GatewayError('insufficientBalance', { status })).error.type, 'insufficient_quota');
    }
  });

  it("does not adopt a provider's type", () => {
    assert.equal(
      renderChat(new GatewayError('upstreamRefused', { status: 429, type: 'own' })).error.type,
      'rate_limit_error',
    );
  });
});

describe('messages envelope', () => {
  it('has type, error and request id, and the code in the details', () => {
    const error = new GatewayError('modelAbsent', { message: 'No such model.' });
    assert.deepEqual(renderMessages(error, 'req_1'), {
      type: 'error',
      error: { type: 'not_found_error', message: 'No such model.', details: { error_code: 'model_not_found' } },
      request_id: 'req_1',
    });
  });

  it('has a type for every status', () => {
    const types: Readonly<Record<string, readonly number[]>> = {
      invalid_request_error: [400, 405, 415, 422],
      authentication_error: [401],
      billing_error: [402],
      permission_error: [403],
      not_found_error: [404],
      conflict_error: [409],
      request_too_large: [413],
      rate_limit_error: [429],
      api_error: [500, 502, 503],
      timeout_error: [504],
      overloaded_error: [529],
    };
    for (const [type, statuses] of Object.entries(types)) {
      for (const status of statuses)
        assert.equal(renderMessages(withStatus(status), 'r').error.type, type, `${status}`);
    }
  });

  it('uses billing_error for all refusals about money, whatever the status', () => {
    for (const status of [402, 429]) {
      assert.equal(
        renderMessages(new GatewayError('insufficientBalance', { status }), 'r').error.type,
        'billing_error',
      );
    }
  });

  it("keeps a provider's type verbatim", () => {
    const error = new GatewayError('upstreamRefused', { status: 400, type: 'their_own_error' });
    assert.equal(renderMessages(error, 'r').error.type, 'their_own_error');
  });
});

describe('responses envelope', () => {
  it('equals the chat format, but has the type and time that Codex recognizes for limits that reset', () => {
    const used = new GatewayError('packageFiveHourQuotaExhausted', { resetAtMs: 1_795_299_180_001 });
    assert.deepEqual(responsesEnvelope.render(used, 'r', 0).error, {
      ...renderChat(used).error,
      type: 'usage_limit_reached',
      resets_at: 1_795_299_181,
    });
    for (const other of [
      new GatewayError('insufficientPackage'),
      new GatewayError('packageConcurrencyLimited', { headers: { 'retry-after': '2' } }),
      new GatewayError('noHealthyRoute', { resetAtMs: 1 }),
    ]) {
      assert.deepEqual(responsesEnvelope.render(other, 'r', 0), renderChat(other));
    }
  });
});

describe('usage envelope', () => {
  it('equals the chat format without param', () => {
    const error = new GatewayError('invalidApiKey', { message: 'No key.', param: 'authorization' });
    assert.deepEqual(usageEnvelope.render(error, 'r', 0), {
      error: { code: 'invalid_api_key', message: 'No key.', type: 'authentication_error' },
    });
    const { param: _, ...rest } = renderChat(error).error;
    assert.deepEqual(usageEnvelope.render(error, 'r', 0).error, rest);
  });
});

describe('every error format', () => {
  const error = new GatewayError('invalidRequest', { message: 'Line one\nline two: "é"', param: 'n' });

  it('uses the status of its protocol', () => {
    assert.deepEqual(
      protocols.map(({ envelope }) => [envelope.name, envelope.render(error, 'r', 0)]),
      [
        ['chat', renderChat(error)],
        ['messages', renderMessages(error, 'r')],
      ],
    );
    const overloaded = new GatewayError('overloaded');
    for (const envelope of [chatEnvelope, usageEnvelope, adminEnvelope, catalogEnvelope]) {
      assert.equal(envelope.status(overloaded), overloaded.status);
    }
    assert.equal(messagesEnvelope.status(overloaded), overloaded.messagesStatus);
  });

  it('has the catalog’s own codes for a read failure and a wrong method, with a timestamp', () => {
    const at = Date.UTC(2026, 10, 20);
    assert.deepEqual(catalogEnvelope.render(new GatewayError('internal'), 'r', at), {
      code: 'COMMON_001',
      message: new GatewayError('internal').message,
      success: false,
      timestamp: '2026-11-20T00:00:00.000Z',
    });
    assert.equal(catalogEnvelope.render(new GatewayError('methodNotAllowed'), 'r', at).code, 'COMMON_004');
    assert.equal(catalogEnvelope.render(error, 'r', at).code, 'invalid_request_error');
  });

  it('has code, message and param for administrators', () => {
    assert.deepEqual(adminEnvelope.render(error, 'r', 0), {
      error: { code: 'invalid_request_error', message: error.message, param: 'n' },
    });
  });

  it('fits into one stream event, named only in messages streams', () => {
    for (const [renderEvent, body, name] of [
      [chatStreamError, renderChat(error), null],
      [messagesStreamError, renderMessages(error, 'req_1'), 'error'],
    ] as const) {
      const event = renderEvent(error, 'req_1');
      assert.deepEqual(JSON.parse(String(eventFields(Buffer.from(event)).data)), body);
      assert.equal(eventFields(Buffer.from(event)).name, name);
      assert.match(event, ONE_EVENT);
    }
  });

  it('has its own event type in streams of responses and images, with flat members and an object', () => {
    const event = typedStreamError(error, 'req_1');
    assert.equal(eventFields(Buffer.from(event)).name, 'error');
    assert.deepEqual(JSON.parse(String(eventFields(Buffer.from(event)).data)), {
      type: 'error',
      code: 'invalid_request_error',
      message: error.message,
      param: 'n',
      error: renderChat(error).error,
    });
    assert.match(event, ONE_EVENT);
  });

  it('is followed in a responses stream by response.failed, the only event that Codex reads', () => {
    const text = responsesStreamError(error, 'req_1');
    const own = typedStreamError(error, 'req_1');
    assert.ok(text.startsWith(own));
    const failed = text.slice(own.length);
    assert.equal(eventFields(Buffer.from(failed)).name, 'response.failed');
    assert.deepEqual(JSON.parse(String(eventFields(Buffer.from(failed)).data)), {
      type: 'response.failed',
      response: {
        id: 'req_1',
        object: 'response',
        status: 'failed',
        error: { code: 'invalid_request_error', message: error.message },
        output: [],
      },
    });
    assert.match(failed, ONE_EVENT);
  });

  it('cannot be mistaken for the end of a stream', () => {
    for (const renderEvent of [chatStreamError, messagesStreamError, typedStreamError, responsesStreamError]) {
      assert.doesNotMatch(renderEvent(error, 'req_1'), /\[DONE\]|message_stop|completed/);
    }
  });
});

/** At most a name, followed by data, each on one line. */
const ONE_EVENT = /^[^\n]+\n(?:[^\n]+\n)?\n$/;
