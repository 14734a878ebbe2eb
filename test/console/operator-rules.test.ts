import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { fieldsOf, isAltered } from '../../console/src/features/changes/difference.ts';
import { matchingLines } from '../../console/src/features/config/matching-lines.ts';
import { whatWasEntered } from '../../console/src/features/find/what-was-entered.ts';
import { modelsLeftWithout } from '../../console/src/features/routes/only-routes.ts';
import { createApiKey } from '../../src/accounting/accounts/key-format.ts';

describe('a search text', () => {
  const key = createApiKey(randomFillSync);

  it('is a key if it contains one', () => {
    for (const text of [key, ` ${key}\n`, `Authorization: Bearer ${key}`, `"${key}"`]) {
      assert.deepEqual(whatWasEntered(text), { kind: 'key', key });
    }
  });

  it('is reduced to the prefix if the key is cut or too long, so that the rest is not sent', () => {
    for (const text of [key.slice(0, -1), `${key}x`, `${key.slice(0, 10)}…`]) {
      assert.deepEqual(whatWasEntered(text), { kind: 'prefix', prefix: key.slice(0, 10) });
    }
  });

  it('is not an id if it looks like a secret of another service', () => {
    assert.deepEqual(whatWasEntered('sk-proj-abcdef'), { kind: 'foreign_secret' });
    assert.deepEqual(whatWasEntered('x-api-key: sk-ant-abc'), { kind: 'foreign_secret' });
  });

  it('is a voucher if it has the form of a code, and is kept out of the address', () => {
    for (const code of ['7KQ2M-X0T4B-9WZ3H-DC5RA', '7kq2m-x0t4b-9wz3h-dc5ra', '7KQ2MX0T4B9WZ3HDC5RA']) {
      assert.deepEqual(whatWasEntered(` ${code} `), { kind: 'voucher', code });
    }
    assert.deepEqual(whatWasEntered('7kq2mx0t4b9wz3hdc5ra').kind, 'text');
  });

  it('is a call, account or key by its form, and text otherwise', () => {
    assert.deepEqual(whatWasEntered('key_01abc'), { kind: 'key_id', id: 'key_01abc' });
    assert.deepEqual(whatWasEntered('spring fair'), { kind: 'text', id: 'spring fair' });
    assert.deepEqual(whatWasEntered(' call_01abc '), { kind: 'call', id: 'call_01abc' });
    assert.deepEqual(whatWasEntered('acct_01abc'), { kind: 'account', id: 'acct_01abc' });
    assert.deepEqual(whatWasEntered('`req_01abc`'), { kind: 'text', id: 'req_01abc' });
    assert.deepEqual(whatWasEntered('  '), { kind: 'nothing' });
  });
});

describe('the difference of a change', () => {
  it('lists nested members by path and marks the changed ones', () => {
    const fields = fieldsOf(
      { name: 'alice', limits: { chat: { tokens: 5 } }, tags: ['a'], empty: {} },
      { name: 'alice', limits: { chat: { tokens: 6 }, other: null }, tags: ['a', 'b'], empty: {} },
    );
    assert.deepEqual(
      fields.map((field) => [field.field, isAltered(field)]),
      [
        ['name', false],
        ['limits.chat.tokens', true],
        ['tags', true],
        ['empty', false],
        ['limits.other', true],
      ],
    );
  });

  it('contains every field of a created or deleted subject', () => {
    assert.deepEqual(fieldsOf(null, { id: 'key_1' }), [{ field: 'id', before: undefined, after: 'key_1' }]);
    assert.deepEqual(fieldsOf({ id: 'key_1' }, null), [{ field: 'id', before: 'key_1', after: undefined }]);
    assert.deepEqual(fieldsOf(null, null), []);
  });
});

describe('a search in the configuration', () => {
  const yaml = [
    'server:',
    '  port: 8080',
    'providers:',
    '  acme:',
    '    timeouts:',
    '      idle: 5m',
    '  other:',
    '    timeouts:',
    '      idle: 9m',
    'models:',
    '  - name: large',
    '    price: "4"',
    '',
  ].join('\n');
  const found = (word: string) =>
    matchingLines(yaml, word).map(({ text, isMatch }) => `${isMatch ? '> ' : '  '}${text.trim()}`);

  it('shows each matching line below its enclosing sections', () => {
    assert.deepEqual(found('9M'), ['  providers:', '  other:', '  timeouts:', '> idle: 9m']);
    assert.deepEqual(found('price'), ['  models:', '> price: "4"']);
  });

  it('shows all lines without a search, and none without a match', () => {
    assert.equal(found(' ').length, 12);
    assert.deepEqual(found('nowhere'), []);
  });
});

describe('models that a drain leaves without a route', () => {
  const route = (model: string, provider: string, given: { weight?: number; isDrained?: boolean } = {}) => ({
    ...{ model, provider, providerModel: `${model}-1`, weight: given.weight ?? 1 },
    drained: given.isDrained ? { ...whole(provider), reason: null, by: 'alice', byId: null, since: '' } : null,
  });
  const whole = (provider: string) => ({ provider, model: null, providerModel: null });

  it('are those whose routes in service are all drained by it', () => {
    const routes = [route('a', 'acme'), route('a', 'other'), route('b', 'acme'), route('c', 'other')];
    assert.deepEqual(modelsLeftWithout(routes, whole('acme')), ['b']);
    assert.deepEqual(modelsLeftWithout(routes, { provider: 'acme', model: 'a', providerModel: 'a-1' }), []);
    assert.deepEqual(modelsLeftWithout(routes, { provider: 'acme', model: 'b', providerModel: 'b-1' }), ['b']);
  });

  it('include models whose other routes are drained or disabled, but none that had no route before', () => {
    const routes = [
      route('a', 'acme'),
      route('a', 'other', { isDrained: true }),
      route('b', 'acme'),
      route('b', 'other', { weight: 0 }),
      route('c', 'acme', { weight: 0 }),
    ];
    assert.deepEqual(modelsLeftWithout(routes, whole('acme')), ['a', 'b']);
    assert.deepEqual(modelsLeftWithout(routes, whole('other')), []);
  });
});
