import type { AdmissionObserver } from '../accounting/reservations/reservations.ts';
import type { EndPlace } from '../accounting/settlement/settlement.ts';
import { shareInFlight } from '../lib/shared-reads.ts';
import type { RequestObserver } from '../requests/request-report.ts';
import { accountingMetrics } from './accounting-metrics.ts';
import { CallCounts } from './call-counts.ts';
import { callHistograms, callMetrics } from './call-metrics.ts';
import { databaseMetrics } from './database-metrics.ts';
import { type Distribution, Distributions } from './distribution.ts';
import type { Exposition } from './exposition.ts';
import type { HistogramRow, MetricRow } from './metric.ts';
import type { NodeFigures } from './node-figures.ts';
import { noticeMetrics } from './notice-metrics.ts';
import { observedMetrics } from './observed-metrics.ts';
import { providerMetrics } from './provider-metrics.ts';
import { servingMetrics } from './serving-metrics.ts';
import type { MetricsReport, MetricsText } from './summed-metrics.ts';

const nodeMetrics = [...servingMetrics, ...accountingMetrics, ...databaseMetrics, ...providerMetrics, ...noticeMetrics];

/** All metrics in the order of `docs/metrics.md`, without prom-client's default ones. */
export const metricRows: readonly (MetricRow & { readonly type: 'counter' | 'gauge' | 'histogram' })[] = [
  ...callMetrics,
  ...Object.values(callHistograms),
  ...Object.values(observedMetrics),
  ...nodeMetrics,
];

/** Observers of the node. Each call of one takes a few microseconds at most. */
export interface NodeObservers {
  readonly request: RequestObserver;
  readonly admissions: AdmissionObserver;
  readonly settlementBatch: (callCount: number, tookMs: number) => void;
  readonly settlement: (place: EndPlace, tookMs: number) => void;
}

export interface Metrics {
  readonly observers: NodeObservers;
  /** Returns the metrics in the OpenMetrics format. Concurrent scrapes share one text. */
  scrape(readNode: () => Promise<NodeFigures>): Promise<MetricsText>;
  /** Returns a report, which can be added to others. A process must not use `scrape` as well, because that renames counters. */
  report(readNode: () => Promise<NodeFigures>): Promise<MetricsReport>;
}

/**
 * Creates the metrics. prom-client's counters look up labels at each increment, so counts are plain numbers that it gets at a scrape. The
 * library is loaded at the first scrape.
 */
export function createMetrics(): Metrics {
  const times = distributionsOf(callHistograms);
  const calls = new CallCounts((model, provider) => ({
    duration: times.duration.add(model, provider),
    firstByte: times.firstByte.add(model, provider),
  }));
  const observed = distributionsOf(observedMetrics);
  const admission = observed.admission.add();
  const admissionBatch = observed.admissionBatch.add();
  const admissionBatchCalls = observed.admissionBatchCalls.add();
  const settlementBatch = observed.settlementBatch.add();
  const settlementBatchCalls = observed.settlementBatchCalls.add();
  const settlements = {
    database: observed.settlement.add('database'),
    journal: observed.settlement.add('journal'),
    nowhere: observed.settlement.add('nowhere'),
  } as const satisfies Record<EndPlace, Distribution>;
  let exposition: Promise<Exposition> | null = null;

  async function load(): Promise<Exposition> {
    const { createExposition } = await import('./exposition.ts');
    return createExposition({
      calls,
      distributions: [...Object.values(times), ...Object.values(observed)],
      callMetrics,
      nodeMetrics,
    });
  }

  async function read(readNode: () => Promise<NodeFigures>): Promise<[Exposition, NodeFigures]> {
    exposition ??= load().catch((error: unknown) => {
      exposition = null;
      throw error;
    });
    const exposed = await exposition;
    const node = await readNode();
    calls.addRoutes(node.routes);
    return [exposed, node];
  }

  return {
    observers: {
      request: (report) => calls.observe(report),
      admissions: {
        batch(callCount, tookMs) {
          admissionBatchCalls.observe(callCount);
          admissionBatch.observe(tookMs / 1_000);
        },
        admission: (tookMs) => admission.observe(tookMs / 1_000),
      },
      settlementBatch(callCount, tookMs) {
        settlementBatchCalls.observe(callCount);
        settlementBatch.observe(tookMs / 1_000);
      },
      settlement: (place, tookMs) => settlements[place].observe(tookMs / 1_000),
    },
    scrape: shareInFlight(async (readNode) => {
      const [exposed, node] = await read(readNode);
      return exposed.text(node);
    }),
    async report(readNode) {
      const [exposed, node] = await read(readNode);
      return exposed.values(node);
    },
  };
}

function distributionsOf<Name extends string>(
  rows: Readonly<Record<Name, HistogramRow>>,
): Readonly<Record<Name, Distributions>> {
  const entries = Object.entries<HistogramRow>(rows).map(([name, row]) => [name, new Distributions(row)] as const);
  return Object.fromEntries(entries) as Record<Name, Distributions>;
}
