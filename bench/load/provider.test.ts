import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendTimes } from './provider.ts';

const chunk = (ms: number): string => `data: {"choices":[{"delta":{"content":"word bench@${ms}@"}}]}\n\n`;

describe('send times in chunks', () => {
  it('are all found, also if several chunks arrive together', () => {
    assert.deepEqual(sendTimes(chunk(1.5) + chunk(20)), { sentMs: [1.5, 20], rest: '"}}]}\n\n' });
  });

  it('are found in a split chunk once its rest has arrived', () => {
    const whole = chunk(1_234.567);
    for (let cut = 0; cut <= whole.length; cut++) {
      const first = sendTimes(whole.slice(0, cut));
      const second = sendTimes(first.rest + whole.slice(cut));
      assert.deepEqual([...first.sentMs, ...second.sentMs], [1_234.567], `cut at ${cut}`);
    }
  });
});
