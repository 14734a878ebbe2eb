import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { passwordFault } from './password-rules.ts';
import { Passwords, PasswordsBusyError } from './passwords.ts';

const ASKER = { network: '192.0.2.7', isKnown: false };
const CHEAP = { memoryKib: 8, passes: 1 };

describe('passwords', () => {
  it('are stored as salted argon2id with the parameters recommended by OWASP', async () => {
    const passwords = new Passwords();
    const [first, second] = [
      await passwords.hash('correct horse battery', ASKER),
      await passwords.hash('correct horse battery', ASKER),
    ];
    assert.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.notEqual(first, second);
    assert.equal(await passwords.verify('correct horse battery', first, ASKER), true);
    assert.equal(await passwords.verify('correct horse batterY', first, ASKER), false);
  });

  it('are checked with the parameters stored in their hash, so that defaults can change', async () => {
    const stored = await new Passwords({ cost: CHEAP }).hash('correct horse battery', ASKER);
    assert.match(stored, /m=8,t=1/);
    assert.equal(await new Passwords().verify('correct horse battery', stored, ASKER), true);
  });

  it('match in every Unicode composition of their characters', async () => {
    const passwords = new Passwords({ cost: CHEAP });
    const stored = await passwords.hash('caf\u00e9 caf\u00e9 caf\u00e9', ASKER);
    assert.equal(await passwords.verify('cafe\u0301 cafe\u0301 cafe\u0301', stored, ASKER), true);
  });

  it('of unknown users are hashed too, and never match', async () => {
    const passwords = new Passwords({ cost: CHEAP, atOnce: 1, waitingMax: 0 });
    const nobody = passwords.verify('whatever it is', null, ASKER);
    // The first check occupies the only slot.
    await assert.rejects(passwords.verify('whatever it is', null, ASKER), PasswordsBusyError);
    assert.equal(await nobody, false);
  });

  it('queue for a slot, and are refused if the queue is full', async () => {
    const passwords = new Passwords({ cost: CHEAP, atOnce: 2, waitingMax: 3 });
    const hashes = Array.from({ length: 7 }, () => passwords.hash('correct horse battery', ASKER));
    const results = await Promise.allSettled(hashes);
    assert.deepEqual(
      results.map(({ status }) => status),
      [...Array(5).fill('fulfilled'), ...Array(2).fill('rejected')],
    );
    assert.match(await passwords.hash('correct horse battery', ASKER), /^\$argon2id/);
  });
});

describe('password rules', () => {
  const cases: [string, string, RegExp | null][] = [
    ['refuse eleven characters', 'abcdefghijk', /at least 12/],
    ['accept twelve', 'abcdefghijkl', null],
    ['count characters rather than bytes', '😀😀😀😀😀😀😀😀😀😀😀', /at least 12/],
    ['accept 200', 'a'.repeat(200), null],
    ['refuse 201', 'a'.repeat(201), /at most 200/],
    ['refuse the e-mail address', 'Lin@Example.com ', /Do not use your e-mail/],
    ['refuse the name', 'lin wei from chengdu', /Do not use your e-mail/],
  ];
  for (const [name, password, expected] of cases) {
    it(name, () => {
      const fault = passwordFault(password, ['lin@example.com', 'Lin Wei from Chengdu', null]);
      if (expected === null) assert.equal(fault, null);
      else assert.match(fault ?? '', expected);
    });
  }
});
