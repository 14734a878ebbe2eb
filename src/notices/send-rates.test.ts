import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decideSend, ratesOfMail, type SendRate } from './send-rates.ts';

describe('what may be sent', () => {
  it('is a burst, and then one more each time, of each subject alone', () => {
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
            assert.ok(!('waitMs' in decideSend(rates, debts, nowMs + decision.waitMs)), 'it may be then');
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

  it('of mails is counted by the address, however it is written, and by the account', () => {
    assert.deepEqual(
      ratesOfMail('link', 'acct_1', ' Lin@People.example'),
      ratesOfMail('link', 'acct_1', 'lin@people.example'),
    );
    assert.equal(ratesOfMail('link', null, 'lin@people.example').length, 1);
    assert.ok(!JSON.stringify(ratesOfMail('link', 'acct_1', 'lin@people.example')).includes('people'));
  });
});
