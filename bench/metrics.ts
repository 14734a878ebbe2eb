import type { RequestReport } from '../src/requests/request-report.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { median } from './quantile.ts';
import { sampleOutcome } from './sample-outcome.ts';

/**
 * The cost of metrics for a call: counting its report, observing its admission and its end. Microseconds, the median of rounds.
 *
 *   node bench/metrics.ts
 */
const ROUNDS = 21;
const CALLS = 20_000;
const MODELS = 50;

/** The members of a report that metrics read. */
const reports: readonly RequestReport[] = Array.from({ length: MODELS }, (_, i) => {
  const model = `model-${i}`;
  return {
    kind: 'call',
    status: 200,
    end: 'succeeded',
    errorCode: null,
    modelAsked: model,
    model,
    durationMs: 2_500,
    chunks: 40,
    outcome: sampleOutcome({ model }),
  } as Partial<RequestReport> as RequestReport;
});

const { observers } = createMetrics();

function measure(work: (call: number) => void): string {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const startedAtMs = performance.now();
    for (let call = 0; call < CALLS; call++) work(call);
    return ((performance.now() - startedAtMs) * 1_000) / CALLS;
  });
  return median(rounds)!.toFixed(2);
}

console.log(`report     ${measure((call) => observers.request(reports[call % MODELS]!))} µs a call`);
console.log(`admission  ${measure((call) => observers.admissions.admission(1 + (call % 9)))} µs a call`);
console.log(`settlement ${measure((call) => observers.settlement('database', 1 + (call % 9)))} µs a call`);
console.log(`batch      ${measure((call) => observers.settlementBatch(1 + (call % 64), 2))} µs a batch`);
