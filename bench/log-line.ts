import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';
import type { CallOutcome } from '../src/accounting/calls/call-outcome.ts';
import { LogStream } from '../src/cli/log/log-stream.ts';
import { loggerTo } from '../src/cli/log/logger.ts';
import type { Logger } from '../src/lib/logger.ts';
import { createRequestLog } from '../src/requests/request-log.ts';
import { createReports, OpenReport, type RequestObserver } from '../src/requests/request-report.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { median } from './quantile.ts';
import { sampleOutcome } from './sample-outcome.ts';

/**
 * The cost of a call's report, its log line and its metrics, without a gateway: CPU of the process, including threads that write, in µs
 * per call. Lines go to a file, as in production. Variants take turns; prints medians and minima.
 *
 *   node bench/log-line.ts
 *   node bench/log-line.ts --rounds 51
 */
const options = readOptions({ rounds: 21 });
/** Lines per round: fewer than the file's queue may hold. */
const CALLS = 4_000;
/** Calls that end in one iteration of the event loop: about a batch of settlements. */
const CALLS_A_TURN = 16;

const directory = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
const stream = new LogStream({ destination: join(directory, 'log'), format: 'json' });
const logger = loggerTo(stream, {});
const { observers: metrics } = createMetrics();

const outcomeOf = (requestId: string): CallOutcome =>
  sampleOutcome({ requestId, model: 'deepseek-v3', providerModel: 'vendor/deepseek-v3-0324' });

const principal = {
  accountId: 'acc_01hzy3v7k2m4n6p8q0r2s4t6v8',
  keyId: 'key_01hzy3v7k2m4n6p8q0r2s4t6v8',
  keyPrefix: 'sk-fg-3f9a…',
} as unknown as OpenReport['principal'];

/** Creates the report of a call, fills it in, and ends it. */
function reporting(observers: readonly RequestObserver[], log: Logger): (call: number) => void {
  const open = createReports({
    clock: { nowMs: () => Date.now() },
    monotonicMs: () => performance.now(),
    logger: log,
    observers,
    openTrace: null,
  });
  return (call) => {
    const requestId = `req_01hzy3v7k2m4n6p8q0r2${call}`;
    const report = open({
      requestId,
      clientRequestId: null,
      method: 'POST',
      path: '/v1/chat/completions',
      kind: 'call',
      operation: 'chat',
      clientAddress: '203.0.113.7',
      traceparent: null,
      tracestate: null,
    });
    if (!(report instanceof OpenReport)) throw new Error('reports are made of another class now');
    report.principal = principal;
    report.context = 'balance';
    report.modelAsked = 'deepseek-v3';
    report.model = 'deepseek-v3';
    report.isStream = true;
    report.callId = `call_01hzy3v7k2m4n6p8q0r2${call}`;
    report.isAdmitted = true;
    report.chunks = 40;
    report.outcome = outcomeOf(`chatcmpl-${call}`);
    report.closed(200, true);
  };
}

const log = createRequestLog(logger, () => 'all');
const measured = [
  { name: 'report', work: reporting([], logger), rounds: [] as number[] },
  { name: 'report, metrics', work: reporting([metrics.request], logger), rounds: [] as number[] },
  { name: 'report, line', work: reporting([log], logger), rounds: [] as number[] },
  { name: 'report, line, metrics', work: reporting([log, metrics.request], logger), rounds: [] as number[] },
];

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Waits until all lines are written. */
const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 250));

for (let round = -2; round < options.rounds; round++) {
  for (const { work, rounds } of measured) {
    const start = process.cpuUsage();
    for (let call = 0; call < CALLS; call++) {
      work(call);
      if (call % CALLS_A_TURN === 0) await turn();
    }
    await rest();
    const { user, system } = process.cpuUsage(start);
    // Code is slower until V8 has optimised it.
    if (round >= 0) rounds.push((user + system) / CALLS);
  }
}
for (const { name, rounds } of measured) {
  const [middle, least] = [median(rounds)!, Math.min(...rounds)].map((micros) => micros.toFixed(2));
  console.log(`${name.padEnd(24)}${middle!.padStart(7)} µs a call, at least ${least}`);
}
if (stream.droppedLines > 0) throw new Error('lines were dropped, so less was written than measured');
await stream.close(10_000);
rmSync(directory, { recursive: true });
