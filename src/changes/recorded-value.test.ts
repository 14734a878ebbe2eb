import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { createApiKey } from '../accounting/accounts/key-format.ts';
import { createAdminToken } from '../people/admin-token.ts';
import { toRecorded, toRecordedPair } from './recorded-value.ts';

describe('a value recorded in the audit log', () => {
  it('contains no member with the name of a secret, at any depth', () => {
    const secrets = Object.fromEntries(
      [
        'key',
        'token',
        'secret',
        'link',
        'code',
        'codes',
        'password',
        'apiKey',
        'resetLink',
        'newPassword',
        'x-api-key',
        'Authorization',
      ].map((name) => [name, name === 'codes' ? ['a secret'] : 'a secret']),
    );
    assert.deepEqual(toRecorded({ id: 'key_1', ...secrets, inner: [{ ...secrets, name: 'n' }] }), {
      id: 'key_1',
      inner: [{ name: 'n' }],
    });
  });

  it('contains members whose names only resemble those of secrets', () => {
    const harmless = {
      keyId: 'key_1',
      prefix: 'sk-fg-Ab12…',
      tokensPerMinute: 5,
      tokens: 7,
      errorCode: 'conflict',
      modelLimits: { 'deep-code': { requestsPerMinute: 1 }, monkey: null, 'small-key': { tokensPerMinute: 2 } },
    };
    assert.deepEqual(toRecorded(harmless), harmless);
  });

  it('contains no keys or tokens from texts, and only the origin of URLs', () => {
    const [key, token] = [createApiKey(randomFillSync), createAdminToken(randomFillSync)];
    assert.deepEqual(
      toRecorded({
        memo: `for ${key} and ${token}`,
        [`named ${key}`]: 1,
        url: 'https://user:pass@hooks.example.com:8443/services/T0/secret?x=1',
        plain: 'see http://example.com',
        quoted: "https://hooks.example.com/o'secret/x and https://a b",
        odd: 'https:\\\\hooks.example.com\\secret',
        behind: '_1https://hooks.example.com/secret',
        database: 'at (postgres://me:word@db.example.com/faregate)',
        broken: 'https://[/secret',
        second: '://https://hooks.example.com/secret',
      }),
      {
        memo: 'for [key] and [key]',
        'named [key]': 1,
        url: 'https://hooks.example.com:8443/…',
        plain: 'see http://example.com',
        quoted: 'https://hooks.example.com/… and https://a b',
        odd: 'https://hooks.example.com/…',
        behind: '_1https://…',
        database: 'at (postgres://db.example.com/…',
        broken: 'https://…',
        second: '://https://hooks.example.com/…',
      },
    );
  });

  it('contains complete lists of networks, and the added and removed items of long lists', () => {
    const networks = Array.from({ length: 100 }, (_, n) => `10.0.${n}.0/24`);
    assert.deepEqual(toRecorded({ networks }), { networks });
    const changed = [...networks.slice(1), '0.0.0.0/0'];
    assert.deepEqual(toRecordedPair({ id: 'k', allowed: { networks } }, { id: 'k', allowed: { networks: changed } }), [
      { id: 'k', allowed: { networks: ['10.0.0.0/24', '… 99 unchanged'] } },
      { id: 'k', allowed: { networks: ['0.0.0.0/0', '… 99 unchanged'] } },
    ]);
    const short = [{ models: ['a', 'b'] }, { models: ['a'] }] as const;
    assert.deepEqual(toRecordedPair(...short), short);
    assert.deepEqual(toRecordedPair(null, { networks }), [null, { networks }]);
  });

  it('contains all members of the subject, and the changed members of long records in it', () => {
    const limits = (count: number) =>
      Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`model-${n}`, { perMinute: n === 7 ? count : 5 }]));
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`member${n}`, n]));
    assert.deepEqual(toRecordedPair({ ...many, limits: limits(5) }, { ...many, limits: limits(9) }), [
      { ...many, limits: { 'model-7': { perMinute: 5 }, '…': '59 unchanged' } },
      { ...many, limits: { 'model-7': { perMinute: 9 }, '…': '59 unchanged' } },
    ]);
  });

  it('divides space fairly between lists; a list that is too long keeps its widest networks and the number of the others', () => {
    const models = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(200, 'm'));
    const modelLimits = Object.fromEntries(models.map((id) => [id, { perMinute: 5 }]));
    const networks = [...Array.from({ length: 99 }, (_, n) => `2001:db8:${n}:ffff:ffff:ffff:ffff:ff00/120`), '::/0'];
    const made = toRecorded({ id: 'k', models, modelLimits, networks }) as Record<string, readonly unknown[]>;
    assert.deepEqual([made.id, made.networks], ['k', networks]);
    assert.match(String(made.models!.at(-1)), /^… \d+ more$/);
    assert.match(String((made.modelLimits as unknown as Record<string, unknown>)['…']), /^\d+ more$/);
    assert.ok(JSON.stringify(made).length < 20_000);

    const all = Array.from({ length: 1_000 }, (_, n) => `10.${n % 250}.${Math.floor(n / 250)}.0/24`);
    const widened = { networks: [...all.slice(1), ...networks.slice(0, 99), ...models, '0.0.0.0/0'] };
    const [, after] = toRecordedPair({ networks: all }, widened) as readonly Record<string, readonly unknown[]>[];
    const kept = after!.networks!.length - 1;
    assert.ok(after!.networks!.includes('0.0.0.0/0'));
    assert.equal(after!.networks!.at(-1), `… 999 unchanged, ${200 - kept} more`);
  });

  it('contains each member, whatever its name', () => {
    const odd = JSON.parse('{"limits":{"__proto__":{"perMinute":1},"constructor":{"perMinute":2}}}');
    assert.equal(JSON.stringify(toRecorded(odd)), JSON.stringify(odd));
    const [one, other] = [createApiKey(randomFillSync), createApiKey(randomFillSync)];
    assert.deepEqual(toRecorded({ [one]: 1, [other]: 2 }), { '[key]': 1, '[key]…': 2 });
  });

  it('is bounded and shows where it was truncated', () => {
    const vouchers = Array.from({ length: 500 }, (_, n) => ({ id: `vch_${n}`, value: '5' }));
    const cut = toRecorded({ batch: 'b', vouchers }) as { vouchers: unknown[] };
    assert.equal(cut.vouchers.length, 21);
    assert.equal(cut.vouchers.at(-1), '… 480 more');
    let deep: object = {};
    for (let depth = 0; depth < 100; depth++) deep = { deep };
    const wide = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`member ${n}`, 'x'.repeat(1_000)]));
    const lists = Array.from({ length: 30 }, () => Array.from({ length: 30 }, () => Array(30).fill('y'.repeat(100))));
    for (const value of [{ deep }, wide, { lists }, { text: 'z'.repeat(100_000) }]) {
      const recorded = JSON.stringify(toRecorded(value));
      assert.ok(recorded.length < 20_000, String(recorded.length));
      assert.match(recorded, /…/);
    }
  });

  it('can be stored, whatever characters it contains', () => {
    assert.deepEqual(toRecorded({ name: 'a\u0000b\ud800' }), { name: 'ab\ufffd' });
    assert.equal(toRecorded(null), null);
  });
});
