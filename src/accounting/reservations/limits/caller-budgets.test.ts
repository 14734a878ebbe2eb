import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { balanceCall, MemoryAccount } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';
import { budgetedCallers, budgetIdsOfCall, callerOfBudget } from '../../accounts/caller-budget-ids.ts';
import type { ModelBudget } from '../../accounts/key-limit-tables.ts';
import { CALLER_ROWS_A_DAY_MAX, rowsOfCallers } from './caller-budgets.ts';

/** A Saturday: the week ends at `2d00:00`. */
const START_MS = Date.UTC(2028, 1, 26);

/** The state: spent in the day plus reserved, by each row in the order of creation. */
function scene(caps: Readonly<Record<string, Partial<ModelBudget>>>): TranscriptScene {
  const account = new MemoryAccount({ balanceNano: 1_000n });
  for (const [id, budget] of Object.entries(caps)) account.limitKey(budget, id);
  const idsOf = (text: string | undefined, kind: string) =>
    text ? text.split('/').map((name) => `${kind} ${name}`) : [];
  return {
    account,
    startMs: START_MS,
    call(callId, parts) {
      const callers = [...idsOf(parts.get('user'), 'endUser'), ...idsOf(parts.get('tags'), 'tag')];
      const amountNano = BigInt(parts.get('amount') ?? 1);
      return balanceCall(callId, { amountNano, budgetIds: { key: null, member: null, callers } });
    },
    state: ({ state: { keys } }) =>
      [...keys.values()]
        .map(({ keyId, spentNano, reservedNano }) => `${keyId.replace(' ', '=')}:${spentNano}+${reservedNano}`)
        .join('/'),
  };
}

describe('the budgets of end users and tags', () => {
  it('count the calls of a value and what they reserve; a default budget gives each value a row', () => {
    runTranscript(
      `
      time     operation  call  with               result                           state
      0d00:00  asks       a     user=ann,amount=8  admitted:992                     endUser:0+0/endUser=ann:0+8
      0d00:00  asks       b     user=ann,amount=8  admitted:984                     endUser:0+0/endUser=ann:0+16
      0d00:00  asks       c     user=ann           callerSpendLimitReached@soon    endUser:0+0/endUser=ann:0+16
      0d00:00  counts     a     charge=6           -                                endUser:0+0/endUser=ann:6+8
      0d00:00  fails      b     -                  -                                endUser:0+0/endUser=ann:6+0
      0d00:00  asks       d     user=bob,amount=9  admitted:991                     endUser:0+0/endUser=ann:6+0/endUser=bob:0+9
      0d00:00  asks       e     user=ann,amount=1  admitted:990                     endUser:0+0/endUser=ann:6+1/endUser=bob:0+9
      0d00:00  counts     e     charge=4           -                                endUser:0+0/endUser=ann:10+0/endUser=bob:0+9
      0d00:00  asks       f     user=ann           callerSpendLimitReached@1d00:00 endUser:0+0/endUser=ann:10+0/endUser=bob:0+9
      1d00:00  asks       f     user=ann           admitted:990                     endUser:0+0/endUser=ann:0+1/endUser=bob:0+9
      `,
      scene({ endUser: { dailySpendCapNano: 10n } }),
    );
  });

  it('of one value replace the default budget, and the first exhausted value refuses', () => {
    runTranscript(
      `
      time     operation  call  with                          result                              state
      0d00:00  asks       a     user=ann,tags=x/y,amount=2    admitted:998                        endUser=ann:0+2/tag:0+0/tag=y:0+2/tag=x:0+2
      0d00:00  counts     a     charge=5                      -                                   endUser=ann:5+0/tag:0+0/tag=y:5+0/tag=x:5+0
      0d00:00  asks       b     tags=y                        admitted:999                        endUser=ann:5+0/tag:0+0/tag=y:5+1/tag=x:5+0
      0d00:00  asks       c     user=ann,tags=y/x             callerSpendLimitReached@1d00:00        endUser=ann:5+0/tag:0+0/tag=y:5+1/tag=x:5+0
      0d00:00  asks       d     user=bob,tags=y               admitted:998                        endUser=ann:5+0/tag:0+0/tag=y:5+2/tag=x:5+0
      0d00:00  counts     d     charge=1                      -                                   endUser=ann:5+0/tag:0+0/tag=y:6+1/tag=x:5+0
      0d00:00  asks       e     user=ann,tags=x               callerSpendLimitReached@1d00:00        endUser=ann:5+0/tag:0+0/tag=y:6+1/tag=x:5+0
      1d00:00  asks       f     user=ann,tags=x               admitted:998                        endUser=ann:0+1/tag:0+0/tag=y:6+1/tag=x:0+1
      1d00:00  counts     f     charge=1                      -                                   endUser=ann:1+0/tag:0+0/tag=y:6+1/tag=x:1+0
      1d00:00  asks       g     user=ann                      callerWeeklySpendLimitReached@2d00:00 endUser=ann:1+0/tag:0+0/tag=y:6+1/tag=x:1+0
      `,
      scene({
        'endUser ann': { weeklySpendCapNano: 6n },
        tag: { dailySpendCapNano: 5n },
        'tag y': { monthlySpendCapNano: 90n },
      }),
    );
  });

  it('beyond the daily maximum of rows are one budget, which a call uses once', () => {
    const { account } = scene({ tag: { dailySpendCapNano: 10n }, 'tag own': { dailySpendCapNano: 10n } });
    const ask = (callId: string, names: readonly string[], atMs = START_MS) =>
      account.admit(
        [
          balanceCall(callId, {
            amountNano: 6n,
            budgetIds: { key: null, member: null, callers: names.map((n) => `tag ${n}`) },
          }),
        ],
        atMs,
      )[0]!;
    for (let n = 0; n < CALLER_ROWS_A_DAY_MAX; n++) {
      assert.equal(ask(`c${n}`, [`t${n}`]).isAdmitted, true);
      account.end(`c${n}`, { counts: true, tokens: 0, keyChargeNano: 1n, rateTokens: 0 }, START_MS);
    }
    const shared = account.state.keys.get('tag')!;
    assert.equal(shared.calls, CALLER_ROWS_A_DAY_MAX);
    assert.equal(ask('s1', ['new', 'newer']).isAdmitted, true);
    assert.deepEqual([shared.reservedNano, account.open.get('s1')!.callerBudgetIds], [6n, ['tag']]);
    account.end('s1', { counts: true, tokens: 0, keyChargeNano: 10n, rateTokens: 0 }, START_MS);
    assert.deepEqual([shared.reservedNano, shared.spentNano], [0n, 10n]);
    const refused = ask('s2', ['newest']);
    assert.ok(!refused.isAdmitted);
    assert.deepEqual(refused.refusal.budgetCaller, { kind: 'tag', value: 'newest', isShared: true });
    // Values with a row, and those with a budget of their own, are not affected.
    for (const name of ['t1', 'own']) assert.equal(ask(`of ${name}`, [name]).isAdmitted, true);
    assert.deepEqual(
      rowsOfCallers(['tag t1', 'tag new', 'tag newer'], account.state).map(({ keyId }) => keyId),
      ['tag t1', 'tag'],
    );
    // On the next day, there is room for new rows.
    assert.equal(ask('next', ['newest'], START_MS + 24 * 3_600_000).isAdmitted, true);
    assert.deepEqual([account.open.get('next')!.callerBudgetIds, shared.calls], [['tag newest'], 1]);
  });
});

describe('the budgets of a call', () => {
  const model = { id: 'large', aliases: [] };
  const idsOf = (rows: readonly string[] | null, caller: Parameters<typeof budgetIdsOfCall>[0]['caller']) =>
    budgetIdsOfCall({ principal: { modelBudgets: null, callerBudgets: budgetedCallers(rows) }, model, caller });

  it('are those of values with a budget, or of all values if there is a default budget', () => {
    const caller = { endUser: 'ann b', tags: ['x', 'y'] };
    assert.deepEqual(idsOf(['endUser', 'tag y'], caller)?.callers, ['endUser ann b', 'tag y']);
    assert.deepEqual(idsOf(['tag'], caller)?.callers, ['tag x', 'tag y']);
    assert.equal(idsOf(['endUser bob'], caller), null);
    assert.equal(idsOf(['endUser', 'tag'], null), null);
    assert.equal(idsOf(null, caller), null);
    assert.deepEqual(callerOfBudget('endUser ann b'), { kind: 'endUser', value: 'ann b' });
    assert.equal(callerOfBudget('key_1 large'), null);
  });

  it('contain those for the model, too', () => {
    const principal = {
      modelBudgets: { key: { ownerId: 'key_1', models: new Set(['large']) }, member: null },
      callerBudgets: budgetedCallers(['tag']),
    };
    const ids = { key: 'key_1 large', member: null };
    assert.deepEqual(budgetIdsOfCall({ principal, model, caller: { tags: ['x'] } }), { ...ids, callers: ['tag x'] });
    assert.deepEqual(budgetIdsOfCall({ principal, model, caller: { endUser: 'ann' } }), ids);
  });
});
