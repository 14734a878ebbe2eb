import { type PlanHeaders, unixSeconds, usedPart } from '../plan-windows.ts';

const WINDOWS = {
  fiveHour: { prefix: 'x-codex-primary', minutes: 300 },
  weekly: { prefix: 'x-codex-secondary', minutes: 10_080 },
} as const;

/** Formats plan windows as headers for Codex: use in percent, lengths in minutes, times in Unix seconds. */
export const responsesPlanHeaders: PlanHeaders = (windows) => {
  const headers: Record<string, string> = {};
  for (const window of windows) {
    const { prefix, minutes } = WINDOWS[window.name];
    headers[`${prefix}-used-percent`] = String(Math.round(usedPart(window) * 100));
    headers[`${prefix}-window-minutes`] = String(minutes);
    headers[`${prefix}-reset-at`] = String(unixSeconds(window.resetAtMs));
  }
  return headers;
};
