import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linkTo } from '../../test/support/linked.ts';
import { CHANGE_RATES } from '../changes/change-rates.ts';
import { Passwords, PasswordsBusyError } from '../people/passwords.ts';
import { SIGN_IN_RATES } from '../people/sign-in-limits.ts';
import { createGuesses, type Guesses, guessesAt, guessHandlers } from './guesses.ts';

const CHEAP = { memoryKib: 8, passes: 1 };
const ASKER = { network: '192.0.2.1', isKnown: false };

/** Two workers of one primary. */
function workersOf(primary: Guesses): readonly [Guesses, Guesses] {
  const worker = (): Guesses => guessesAt(linkTo(guessHandlers(primary)).asker);
  return [worker(), worker()];
}

describe('guesses with several workers', () => {
  it('of a password are counted together, until the right password resets the count', async () => {
    const [first, second] = workersOf(createGuesses(() => 0));
    const { burst } = SIGN_IN_RATES.pair;
    for (let i = 0; i < burst; i++) {
      assert.equal(await [first, second][i % 2]!.attempts.begin('lin', '192.0.2.1'), 0);
    }
    assert.ok((await first.attempts.begin('lin', '192.0.2.1')) > 0);
    assert.ok((await second.attempts.begin('lin', '192.0.2.1')) > 0);
    assert.equal(await first.attempts.isKnown('lin', '192.0.2.1'), false);
    first.attempts.succeeded('lin', '192.0.2.1');
    // A worker's messages arrive in order.
    assert.equal(await first.attempts.isKnown('lin', '192.0.2.1'), true);
    assert.equal(await second.attempts.begin('lin', '192.0.2.1'), 0);
  });

  it('of links and vouchers are counted together, without successful attempts', async () => {
    const [first, second] = workersOf(createGuesses(() => 0));
    for (let i = 0; i < SIGN_IN_RATES.failure.burst; i++) await [first, second][i % 2]!.attempts.beginTry('192.0.2.1');
    assert.ok((await second.attempts.beginTry('192.0.2.1')) > 0);
    first.attempts.tryWorked('192.0.2.1');
    assert.equal(await first.attempts.beginTry('192.0.2.1'), 0);
    let taken = 0;
    while ((await [first, second][taken % 2]!.vouchers.take('acct')) === 0) taken++;
    assert.equal(taken, 10);
    second.vouchers.giveBack('acct');
    assert.equal(await second.vouchers.take('acct'), 0);
  });

  it('count the changes of an actor together', async () => {
    const [first, second] = workersOf(createGuesses(() => 0));
    const change = { rate: 'caller', name: 'key_1', accountId: 'acct_1' } as const;
    const { burst, everyMs } = CHANGE_RATES.caller;
    for (let i = 0; i < burst; i++) assert.equal(await [first, second][i % 2]!.changes.take(change), 0);
    assert.equal(await second.changes.take(change), everyMs);
  });

  it('of passwords are checked by the primary, which reports a full queue', async () => {
    const passwords = new Passwords({ cost: CHEAP, atOnce: 1, waitingMax: 0 });
    const [first, second] = workersOf({ ...createGuesses(() => 0), passwords });
    const stored = await first.passwords.hash('correct horse battery', ASKER);
    assert.equal(await second.passwords.verify('correct horse battery', stored, ASKER), true);
    assert.equal(await second.passwords.verify('wrong', stored, ASKER), false);
    assert.equal(await second.passwords.verify('anything', null, ASKER), false);
    const results = await Promise.allSettled([
      first.passwords.verify('wrong', stored, ASKER),
      second.passwords.verify('wrong', stored, ASKER),
    ]);
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.equal(reasons.length, 1);
    assert.ok(reasons[0] instanceof PasswordsBusyError);
  });
});
