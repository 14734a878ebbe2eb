import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../errors/gateway-error.ts';
import {
  allConnectionsInUse,
  connectionFailure,
  givenUpUnsent,
  type UpstreamFailure,
  unusableSuccess,
} from '../providers/upstream/failure.ts';
import { answerInSuccess, refusalFailure } from '../providers/upstream/refusal.ts';
import { ATTEMPTS_MAX, failedAttempt, withAttempt } from './attempts.ts';

const SECRETS = ['provider-secret-1', 'api.acme.example'];

const refused = (status: number, body: unknown): UpstreamFailure =>
  refusalFailure(
    { status, headers: {} },
    Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    SECRETS,
    'r',
  );
const described = (error: UpstreamFailure | GatewayError) => failedAttempt(error, SECRETS);

describe('a failed attempt', () => {
  it("has the provider's status and words, without secrets and hosts", () => {
    const message = 'The engine at https://api.acme.example/x is overloaded, key provider-secret-1.';
    assert.deepEqual(described(refused(503, { error: { message } })), {
      failure: 'refused',
      status: 503,
      words: 'The engine at [address] is overloaded, key [provider].',
    });
  });

  it('keeps 300 characters on one line', () => {
    const words = described(refused(500, { error: { message: `a\u0007\n\n b${'😀'.repeat(400)}` } })).words!;
    assert.equal(words.length, 300);
    assert.match(words, /^a b😀/);
    assert.ok(words.endsWith('…') && words.isWellFormed());
  });

  const privateOnes: Record<string, [UpstreamFailure, string, string]> = {
    'an unpaid account': [refused(402, { error: { message: 'Pay your bill.' } }), 'account', 'Pay your bill.'],
    'an unpaid account, with another status': [
      refused(429, { error: { message: 'Top up.', code: 'insufficient_quota' } }),
      'account',
      'Top up.',
    ],
    "the provider's name of a model": [
      refused(404, { error: { message: 'The model their-large does not exist.' } }),
      'refused',
      'The model their-large does not exist.',
    ],
    'the server behind a relay': [
      refused(500, { error: { message: 'Provider returned error', metadata: { raw: 'Vendor B is down.' } } }),
      'refused',
      'Provider returned error: Vendor B is down.',
    ],
    'an error in an unknown format': [
      refused(500, { code: 7, msg: 'busy', errors: [{ detail: 'Try later.' }] }),
      'refused',
      'busy: Try later.',
    ],
    'plain text': [refused(503, 'no healthy upstream'), 'refused', 'no healthy upstream'],
    'the title of a page': [refused(502, '<html><title>502 Bad Gateway</title>x'), 'refused', '502 Bad Gateway'],
  };
  for (const [name, [failure, kind, words]] of Object.entries(privateOnes)) {
    it(`tells ${name} to operators alone`, () => {
      const { failure: shown, words: said, isPrivate } = described(failure);
      assert.deepEqual([shown, said, isPrivate], [kind, words, true]);
    });
  }

  it('has no words if the body is part of JSON, compressed or empty', () => {
    for (const body of ['{"error":{"mess', '\ufffd\u0001', '', '<html></html>', '[]']) {
      assert.deepEqual(described(refused(503, body)), { failure: 'refused', status: 503, isPrivate: true });
    }
  });

  it('of a connection has the error for operators, without hosts', () => {
    const refusedConnection = Object.assign(new Error('connect ECONNREFUSED api.acme.example'), {
      code: 'ECONNREFUSED',
    });
    assert.deepEqual(described(connectionFailure(refusedConnection, false)), {
      failure: 'connection',
      words: 'connect ECONNREFUSED [provider]',
      isPrivate: true,
    });
    const unnamed = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
    assert.equal(described(connectionFailure(unnamed, false)).words, 'ECONNREFUSED');
  });

  it('says whether the call waited, timed out, broke off or was unusable', () => {
    const errorOf = (code: string): Error => Object.assign(new Error('x'), { code });
    const kinds = [
      allConnectionsInUse(),
      givenUpUnsent(),
      connectionFailure(errorOf('UND_ERR_HEADERS_TIMEOUT'), true),
      connectionFailure(errorOf('ECONNRESET'), true),
      unusableSuccess('r'),
      new GatewayError('streamBroken'),
      new GatewayError('streamBroken', { cause: unusableSuccess('r') }),
      new GatewayError('streamStalled', { cause: connectionFailure(errorOf('UND_ERR_BODY_TIMEOUT'), true, true) }),
    ].map((error) => described(error).failure);
    const expected = ['queue', 'queue', 'timeout', 'interrupted', 'unusable', 'interrupted', 'unusable', 'timeout'];
    assert.deepEqual(kinds, expected);
  });

  it('has the error in a body with status 200, and never the output of a model', () => {
    const answerOf = (body: object) => answerInSuccess(200, Buffer.from(JSON.stringify(body)), SECRETS);
    const overloaded = { status: 200, words: 'The engine is overloaded', isPrivate: false };
    assert.deepEqual(answerOf({ error: { message: 'The engine is overloaded' } }), overloaded);
    assert.deepEqual(answerOf({ error: 'The engine is overloaded' }), overloaded);
    assert.deepEqual(answerOf({ code: 'busy', message: 'The engine is overloaded' }), overloaded);
    assert.deepEqual(answerOf({ error: { message: 'Pay.', code: 'Arrearage' } }), {
      status: 200,
      words: 'Pay.',
      isPrivate: true,
    });
    const output = { status: 200, words: null, isPrivate: false };
    assert.deepEqual(answerOf({ choices: [{ message: { content: 'secret plan' } }] }), output);
    assert.deepEqual(answerOf({ message: 'secret plan' }), output);
    const failure = unusableSuccess('r', undefined, overloaded);
    assert.deepEqual(described(failure), { failure: 'refused', status: 200, words: 'The engine is overloaded' });
    assert.deepEqual(described(new GatewayError('streamBroken', { cause: failure })).failure, 'refused');
  });
});

describe('the attempts of a call', () => {
  it('are the first ones and the last one', () => {
    const attempt = { provider: 'p', model: 'm', startedMs: 0, durationMs: 1 };
    let attempts = withAttempt([], attempt);
    for (let i = 0; i < 20; i++) attempts = withAttempt(attempts, attempt);
    assert.equal(attempts.length, ATTEMPTS_MAX);
    assert.deepEqual(
      attempts.map(({ no }) => no),
      [1, 2, 3, 4, 5, 6, 7, 21],
    );
  });
});
