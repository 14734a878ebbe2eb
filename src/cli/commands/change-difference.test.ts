import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeDifference } from './change-difference.ts';

describe('the difference in a line of the audit log', () => {
  it('has added and removed items of a list, the widest network first, and the number of further ones', () => {
    const networks = Array.from({ length: 9 }, (_, n) => `10.0.${n}.0/24`);
    const notes = ['… 5 unchanged', '… 5 unchanged, 7 more'];
    assert.equal(
      changeDifference(
        { id: 'k', allowedNetworks: [...networks, notes[0]], models: ['a'], scopes: ['calls', 'account'] },
        {
          id: 'k',
          allowedNetworks: [...networks.slice(2), '192.168.0.0/16', '0.0.0.0/0', notes[1]],
          models: null,
          scopes: ['account', 'calls'],
        },
      ),
      'allowedNetworks: +"0.0.0.0/0" +"192.168.0.0/16" +"… 5 unchanged, 7 more" -"10.0.0.0/24" and 1 more, models: ["a"] → null, ' +
        'scopes: in another order',
    );
  });

  it('has the old and new values of up to four other members, shortened', () => {
    const was = { a: 1, b: 'x'.repeat(60), c: null, d: true, e: 1, gone: 1 };
    assert.equal(
      changeDifference(was, { a: 1, b: 'y', c: '2', d: false, e: 2, f: 3 }),
      `b: "${'x'.repeat(39)}… → "y", c: null → "2", d: true → false, e: 1 → 2`,
    );
    assert.match(changeDifference({ ...was, z: 1 }, { b: 1, c: 2, d: 3, e: 4, z: 5 }), /, and 1 more$/);
    assert.equal(changeDifference(null, was), '');
  });
});
