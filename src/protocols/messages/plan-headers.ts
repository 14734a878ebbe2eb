import { type PlanHeaders, type PlanWindow, unixSeconds, usedPart } from '../plan-windows.ts';

const PREFIX = 'anthropic-ratelimit-unified';

const WINDOWS = {
  fiveHour: { short: '5h', claim: 'five_hour' },
  weekly: { short: '7d', claim: 'seven_day' },
} as const;

/** Used shares of a window at which clients warn, highest first. */
const THRESHOLDS = [0.95, 0.75];

/** Formats plan windows for agents that use the messages protocol: usage as a fraction, times in Unix seconds. */
export const messagesPlanHeaders: PlanHeaders = (windows, isRefused) => {
  const [most] = windows.toSorted((a, b) => usedPart(b) - usedPart(a) || b.resetAtMs - a.resetAtMs);
  if (most === undefined) return {};
  const headers: Record<string, string> = {
    [`${PREFIX}-status`]: statusOf(most, isRefused),
    [`${PREFIX}-reset`]: String(unixSeconds(most.resetAtMs)),
    [`${PREFIX}-representative-claim`]: WINDOWS[most.name].claim,
  };
  for (const window of windows) {
    const own = `${PREFIX}-${WINDOWS[window.name].short}`;
    headers[`${own}-status`] = statusOf(window, isRefused);
    headers[`${own}-utilization`] = String(usedPart(window));
    headers[`${own}-reset`] = String(unixSeconds(window.resetAtMs));
    const threshold = passedThreshold(window);
    if (threshold !== undefined) headers[`${own}-surpassed-threshold`] = String(threshold);
  }
  return headers;
};

function statusOf(window: PlanWindow, isRefused: boolean): string {
  if (isRefused && usedPart(window) === 1) return 'rejected';
  return passedThreshold(window) === undefined ? 'allowed' : 'allowed_warning';
}

function passedThreshold(window: PlanWindow): number | undefined {
  return THRESHOLDS.find((threshold) => usedPart(window) >= threshold);
}
