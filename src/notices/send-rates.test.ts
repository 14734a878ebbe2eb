import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decideSend, ratesOfMail, type SendRate } from './send-rates.ts';

describe('send rates', () => {
  it('allow a burst, then one per interval, separately for each subject', () => {
    const interval = fc.integer({ min: 0, max: 10_000 });
    fc.assert(
      fc.property(fc.array(fc.tuple(interval, fc.boolean()), { maxLength: 60 }), (steps) => {
        const rates: SendRate[] = [
          { subject: 'few', burst: 3, everyMs: 1_000, cost: 1 },
          { subject: 'many', burst: 5, everyMs: 500, cost: 1 },
        ];
        const debts = new Map<string, number>();
        const sentAtMs: number[] = [];
        let nowMs = 1_000_000;
        for (const [passedMs] of steps) {
          nowMs += passedMs;
          const decision = decideSend(rates, debts, nowMs);
          if ('waitMs' in decision) {
            assert.ok(!('waitMs' in decideSend(rates, debts, nowMs + decision.waitMs)), 'allowed after the wait');
            continue;
          }
          for (const [i, { subject }] of rates.entries()) debts.set(subject, decision.repaidAtMs[i]!);
          sentAtMs.push(nowMs);
        }
        for (const { burst, everyMs } of rates) {
          for (const [i, beganMs] of sentAtMs.entries()) {
            for (const [j, endMs] of sentAtMs.slice(i).entries()) {
              assert.ok(j + 1 <= burst + (endMs - beganMs) / everyMs);
            }
          }
        }
      }),
    );
  });

  it('count mails by normalized address and by account', () => {
    assert.deepEqual(
      ratesOfMail('link', 'acct_1', ' Lin@People.example'),
      ratesOfMail('link', 'acct_1', 'lin@people.example'),
    );
    assert.equal(ratesOfMail('link', null, 'lin@people.example').length, 1);
    assert.ok(!JSON.stringify(ratesOfMail('link', 'acct_1', 'lin@people.example')).includes('people'));
  });
});
