import { Counter, collectDefaultMetrics, Gauge, type OpenMetricsContentType, Registry } from 'prom-client';
import type { AdmissionObserver } from '../accounting/reservations/reservations.ts';
import type { EndPlace } from '../accounting/settlement/settlement.ts';
import type { RequestObserver } from '../requests/request-report.ts';
import { accountingMetrics } from './accounting-metrics.ts';
import { CallCounts } from './call-counts.ts';
import { callHistograms, callMetrics } from './call-metrics.ts';
import { databaseMetrics } from './database-metrics.ts';
import { type Distribution, DistributionMetric } from './distribution.ts';
import type { HistogramRow, MetricRow, ReadMetric } from './metric.ts';
import type { NodeFigures } from './node-figures.ts';
import { noticeMetrics } from './notice-metrics.ts';
import { observedMetrics } from './observed-metrics.ts';
import { providerMetrics } from './provider-metrics.ts';
import { servingMetrics } from './serving-metrics.ts';
import type { MetricsReport, MetricsText } from './summed-metrics.ts';

const nodeMetrics = [...servingMetrics, ...accountingMetrics, ...databaseMetrics, ...providerMetrics, ...noticeMetrics];

/** Every metric of Faregate itself, in the order in which the documents list them. */
export const metricRows: readonly (MetricRow & { readonly type: 'counter' | 'gauge' | 'histogram' })[] = [
  ...callMetrics,
  ...Object.values(callHistograms),
  ...Object.values(observedMetrics),
  ...nodeMetrics,
];

/** What the parts of a node tell its metrics. Each takes less than a few microseconds. */
export interface NodeObservers {
  readonly request: RequestObserver;
  readonly admissions: AdmissionObserver;
  readonly settlementBatch: (callCount: number, tookMs: number) => void;
  readonly settlement: (place: EndPlace, tookMs: number) => void;
}

/** The metrics of a node. */
export interface Metrics {
  readonly observers: NodeObservers;
  /** The metrics as a text of OpenMetrics. `readNode` is asked once; scrapes at the same time get the same text. */
  scrape(readNode: () => Promise<NodeFigures>): Promise<MetricsText>;
  /** The same as values, which are summed with those of other workers. Use one of the two. */
  report(readNode: () => Promise<NodeFigures>): Promise<MetricsReport>;
}

/**
 * Counts are kept as plain numbers, or by the parts that they are of, and copied into the registry of prom-client when
 * they are asked for: its own look up their labels each time.
 */
export function createMetrics(): Metrics {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const times = distributionMetrics(callHistograms, registry);
  const calls = new CallCounts((model, provider) => ({
    duration: times.duration.add(model, provider),
    firstByte: times.firstByte.add(model, provider),
  }));
  const observed = distributionMetrics(observedMetrics, registry);
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
  const copyCalls = callMetrics.map((row) => copierOf(row, registry));
  const copyNode = nodeMetrics.map((row) => copierOf(row, registry));
  let hasProcessMetrics = false;
  let scraping: Promise<MetricsText> | null = null;

  async function fill(readNode: () => Promise<NodeFigures>): Promise<void> {
    if (!hasProcessMetrics) {
      // They watch the process until it ends; a gateway that nobody asks does without them.
      hasProcessMetrics = true;
      collectDefaultMetrics({ register: registry });
    }
    const node = await readNode();
    calls.know(node.routes);
    for (const copy of copyCalls) copy(calls);
    for (const copy of copyNode) copy(node);
  }

  async function scrapeOnce(readNode: () => Promise<NodeFigures>): Promise<MetricsText> {
    await fill(readNode);
    return { contentType: registry.contentType, text: await registry.metrics() };
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
    scrape(readNode) {
      scraping ??= scrapeOnce(readNode).finally(() => {
        scraping = null;
      });
      return scraping;
    },
    async report(readNode) {
      await fill(readNode);
      return registry.getMetricsAsJSON();
    },
  };
}

type OpenRegistry = Registry<OpenMetricsContentType>;

/** Registers a metric, and returns a function that replaces its values by those of figures. */
function copierOf<Figures>(row: ReadMetric<Figures>, registry: OpenRegistry): (figures: Figures) => void {
  const { name, help, labels, read, ofWorkers = 'sum' } = row;
  const options = { name, help, labelNames: labels, registers: [registry], aggregator: ofWorkers };
  const metric = row.type === 'counter' ? new Counter(options) : new Gauge(options);
  return (figures) => {
    metric.reset();
    for (const sample of read(figures)) metric.inc(labelled(labels, sample.labels), sample.value);
  };
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, i) => [name, values[i]!]));
}

function distributionMetrics<Name extends string>(
  rows: Readonly<Record<Name, HistogramRow>>,
  registry: OpenRegistry,
): Readonly<Record<Name, DistributionMetric>> {
  const entries = Object.entries<HistogramRow>(rows).map(
    ([name, row]) => [name, new DistributionMetric(row, registry)] as const,
  );
  return Object.fromEntries(entries) as Record<Name, DistributionMetric>;
}
