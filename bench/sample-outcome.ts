import type { CallOutcome } from '../src/accounting/calls/call-outcome.ts';
import { noUsage } from '../src/protocols/metering/usage-facts.ts';

/** The outcome of an ordinary streamed call, for metrics. */
export function sampleOutcome(own: Partial<CallOutcome>): CallOutcome {
  return {
    provider: 'vendor',
    isStream: true,
    status: 'succeeded',
    errorCode: null,
    firstByteMs: 420,
    failedRoutes: [],
    usage: { ...noUsage, inputTokens: 812, cachedInputTokens: 300, outputTokens: 96, source: 'observed' },
    clientRequestId: null,
    priceFactorBasisPoints: 10_000,
    chargeNano: 4_123_456n,
    costNano: null,
    ...own,
  } as unknown as CallOutcome;
}
