import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics, metricRows } from './metrics.ts';
import type { NodeFigures } from './node-figures.ts';
import { createPrimaryMetrics } from './primary-metrics.ts';
import { addReports, countersOf, type MetricsReport, printReports } from './summed-metrics.ts';

interface Worker {
  readonly ends: readonly number[];
  readonly inFlight?: number;
  readonly isUp?: boolean;
  readonly lateMs?: number;
}

/** The report of a worker. `ends` are the sizes of its settlement batches. */
async function report({ ends, inFlight = 0, isUp = true, lateMs = 0 }: Worker): Promise<MetricsReport> {
  const metrics = createMetrics();
  for (const calls of ends) metrics.observers.settlementBatch(calls, 2);
  const figures: NodeFigures = {
    build: { version: '1', nodeVersion: 'v24', engine: 'postgresql' },
    workers: 2,
    isReady: isUp,
    reload: { isInForce: true, lastAtMs: 0 },
    catalog: { inForce: null, scheduled: null, failed: null },
    priceSourceReads: { unchanged: 0, draft: 0, applied: 0, changed: 0, failed: 0 },
    requestsInFlight: inFlight,
    connections: { open: inFlight, max: 100 },
    refusalsDelayed: 0,
    callsQueued: 0,
    reservations: { open: 0, waiting: 0, doubtful: 0 },
    settlements: { waiting: 0, unwritten: 0 },
    callsUnresolved: ends.length,
    journal: { entries: 0, fileBytes: 0, isWritable: true },
    claims: 0,
    cachedKeys: 3,
    database: {
      isUp,
      isSilent: !isUp,
      isNotified: true,
      clockAheadMs: 0,
      pools: [],
      partitions: [],
      partitionsUnopened: 0,
    },
    providers: [],
    routes: [],
    providerLimits: [],
    vendorLimits: [],
    requestWorkers: [],
    bodies: { used: { memoryBytes: 0, diskBytes: 0 }, max: { memoryBytes: 50, diskBytes: 50 } },
    notices: { delivered: 0, failed: 0, inFlight: 0, due: 0 },
    eventLoop: { p50Ms: 0, p99Ms: 0, maxMs: lateMs },
  };
  return metrics.report(() => Promise.resolve(figures));
}

function valueIn(text: string, sample: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

describe('metrics of several workers', () => {
  it('sum counters, and combine each gauge as its row specifies', async () => {
    const { text } = await printReports([
      await report({ ends: [1, 30], inFlight: 2, lateMs: 40 }),
      await report({ ends: [300], inFlight: 5, isUp: false, lateMs: 10 }),
    ]);
    for (const [sample, expected] of [
      ['faregate_calls_unresolved_total', 3],
      ['faregate_settlement_batch_calls_bucket{le="1"}', 1],
      ['faregate_settlement_batch_calls_bucket{le="32"}', 2],
      ['faregate_settlement_batch_calls_bucket{le="+Inf"}', 3],
      ['faregate_settlement_batch_calls_sum', 331],
      ['faregate_settlement_batch_calls_count', 3],
      ['faregate_requests_in_flight', 7],
      ['faregate_connections_max', 100],
      ['faregate_body_memory_max_bytes', 100],
      ['faregate_event_loop_delay_max_seconds', 0.04],
      ['faregate_ready', 0],
      ['faregate_database_up', 0],
      ['faregate_database_silent', 1],
      ['faregate_api_keys_cached', 3],
      ['faregate_workers', 2],
      ['faregate_workers_reporting', 2],
    ] as const) {
      assert.equal(valueIn(text, sample), expected, sample);
    }
    assert.ok(text.endsWith('# EOF\n'));
    assert.doesNotMatch(text, /_total_total/);
  });

  it('keep the counters, and only those, of a worker that has exited or hangs', async () => {
    const left = countersOf(await report({ ends: [2, 2], inFlight: 9, isUp: false }));
    const ended = await addReports([await addReports([[], left]), countersOf(await report({ ends: [2] }))]);
    const { text } = await printReports([await report({ ends: [4], inFlight: 1 }), ended]);
    assert.equal(valueIn(text, 'faregate_calls_unresolved_total'), 4);
    assert.equal(valueIn(text, 'faregate_settlement_batch_calls_sum'), 10);
    assert.equal(valueIn(text, 'faregate_requests_in_flight'), 1);
    assert.equal(valueIn(text, 'faregate_workers_reporting'), 1);
    assert.equal(valueIn(text, 'faregate_database_up'), 1);
  });

  it('report missing workers, even if all are missing', async () => {
    const primary = createPrimaryMetrics(2);
    const one = await printReports([await report({ ends: [] }), await primary.report(false)]);
    assert.equal(valueIn(one.text, 'faregate_ready'), 0);
    assert.equal(valueIn(one.text, 'faregate_workers_reporting'), 1);
    const none = await printReports([await primary.report(false)]);
    assert.equal(valueIn(none.text, 'faregate_workers'), 2);
    assert.equal(valueIn(none.text, 'faregate_workers_reporting'), 0);
    assert.ok(valueIn(none.text, 'process_resident_memory_bytes')! > 0);
  });

  it('specify how to combine workers for every gauge, and only for gauges', () => {
    for (const { name, type, ofWorkers } of metricRows) assert.equal(ofWorkers !== undefined, type === 'gauge', name);
  });
});
