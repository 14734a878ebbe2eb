import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messagesPlanHeaders } from './messages/plan-headers.ts';
import type { PlanWindow } from './plan-windows.ts';
import { responsesPlanHeaders } from './responses/plan-headers.ts';

const fiveHour = (used: number, limit = 200): PlanWindow => ({
  name: 'fiveHour',
  limit,
  used,
  resetAtMs: 1_795_299_180_001,
});
const weekly = (used: number, limit = 1_000): PlanWindow => ({
  name: 'weekly',
  limit,
  used,
  resetAtMs: 1_795_800_000_000,
});

describe('plan windows for Codex', () => {
  it('are in percent, minutes and Unix seconds', () => {
    assert.deepEqual(responsesPlanHeaders([fiveHour(85), weekly(1_000)], false), {
      'x-codex-primary-used-percent': '42',
      'x-codex-primary-window-minutes': '300',
      'x-codex-primary-reset-at': '1795299181',
      'x-codex-secondary-used-percent': '100',
      'x-codex-secondary-window-minutes': '10080',
      'x-codex-secondary-reset-at': '1795800000',
    });
  });

  it('are integers from 0 to 100 percent, even with a limit of 0 or one that was lowered', () => {
    for (const [window, percent] of [
      [fiveHour(0), '0'],
      [fiveHour(57), '28'],
      [fiveHour(199), '99'],
      [fiveHour(300), '100'],
      [fiveHour(0, 0), '100'],
    ] as const) {
      assert.equal(responsesPlanHeaders([window], false)['x-codex-primary-used-percent'], percent);
    }
  });
});

describe('plan windows for agents that use the messages protocol', () => {
  const headersFor = (windows: readonly PlanWindow[], isRefused = false): Record<string, string> =>
    Object.fromEntries(
      Object.entries(messagesPlanHeaders(windows, isRefused)).map(([name, value]) => [
        name.replace('anthropic-ratelimit-unified-', ''),
        value,
      ]),
    );

  it('are fractions and Unix seconds, with the window that is used most', () => {
    assert.deepEqual(headersFor([fiveHour(20), weekly(400)]), {
      status: 'allowed',
      reset: '1795800000',
      'representative-claim': 'seven_day',
      '5h-status': 'allowed',
      '5h-utilization': '0.1',
      '5h-reset': '1795299181',
      '7d-status': 'allowed',
      '7d-utilization': '0.4',
      '7d-reset': '1795800000',
    });
  });

  it('include a warning at 75 percent, and another at 95 percent', () => {
    for (const [used, status, threshold] of [
      [149, 'allowed', undefined],
      [150, 'allowed_warning', '0.75'],
      [189, 'allowed_warning', '0.75'],
      [190, 'allowed_warning', '0.95'],
      [200, 'allowed_warning', '0.95'],
    ] as const) {
      const headers = headersFor([fiveHour(used), weekly(0)]);
      assert.deepEqual([headers.status, headers['5h-status']], [status, status]);
      assert.equal(headers['5h-surpassed-threshold'], threshold);
      assert.equal(headers['7d-surpassed-threshold'], undefined);
    }
  });

  it('show in a refusal which window is used up', () => {
    const headers = headersFor([fiveHour(200), weekly(800)], true);
    assert.deepEqual(
      [headers.status, headers['representative-claim'], headers.reset, headers['5h-status'], headers['7d-status']],
      ['rejected', 'five_hour', '1795299181', 'rejected', 'allowed_warning'],
    );
  });

  it('name the window that resets later if both are used up', () => {
    assert.equal(headersFor([fiveHour(200), weekly(1_000)], true)['representative-claim'], 'seven_day');
  });

  it('are omitted without windows', () => {
    assert.deepEqual(headersFor([]), {});
  });
});
