import type { RateHeaders, RateLeft } from '../rate-status.ts';

export const chatRateHeaders: RateHeaders = ({ requests, tokens }, nowMs) => ({
  ...headersOf('requests', requests, nowMs),
  ...headersOf('tokens', tokens, nowMs),
});

function headersOf(what: string, left: RateLeft | null, nowMs: number): Record<string, string> {
  if (left === null) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(left.limit),
    [`x-ratelimit-remaining-${what}`]: String(left.remaining),
    [`x-ratelimit-reset-${what}`]: durationText(Math.max(left.resetAtMs - nowMs, 0)),
  };
}

/** Formats a duration as chat-style vendors do: `120ms`, `12s`, `6m0s`, `1h0m5s`. From one second on, it is rounded up to seconds. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`;
  const seconds = Math.ceil(ms / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  const parts = [hours > 0 && `${hours}h`, (hours > 0 || minutes > 0) && `${minutes}m`, `${seconds % 60}s`];
  return parts.filter((part) => part !== false).join('');
}
