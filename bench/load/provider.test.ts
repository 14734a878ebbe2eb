import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendTimes } from './provider.ts';

const chunk = (ms: number): string => `data: {"choices":[{"delta":{"content":"word bench@${ms}@"}}]}\n\n`;

describe('chunks that say when they were sent', () => {
  it('are all found, also where several arrive at the same time', () => {
    assert.deepEqual(sendTimes(chunk(1.5) + chunk(20)), { sentMs: [1.5, 20], rest: '"}}]}\n\n' });
  });

  it('one that was cut is found when the rest has arrived', () => {
    const whole = chunk(1_234.567);
    for (let cut = 0; cut <= whole.length; cut++) {
      const first = sendTimes(whole.slice(0, cut));
      const second = sendTimes(first.rest + whole.slice(cut));
      assert.deepEqual([...first.sentMs, ...second.sentMs], [1_234.567], `cut at ${cut}`);
    }
  });
});
