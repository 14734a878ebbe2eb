import { Counter, collectDefaultMetrics, Gauge, type OpenMetricsContentType, Registry } from 'prom-client';
import type { CallCounts } from './call-counts.ts';
import type { Distributions } from './distribution.ts';
import { labelled, type ReadMetric } from './metric.ts';
import type { NodeFigures } from './node-figures.ts';
import type { MetricsReport, MetricsText } from './summed-metrics.ts';

interface ExposedMetrics {
  readonly calls: CallCounts;
  readonly distributions: readonly Distributions[];
  readonly callMetrics: readonly ReadMetric<CallCounts>[];
  readonly nodeMetrics: readonly ReadMetric<NodeFigures>[];
}

/** Formats metrics, with the figures of the node at the time of a scrape. */
export interface Exposition {
  /** Returns the metrics in the OpenMetrics format. */
  text(node: NodeFigures): Promise<MetricsText>;
  values(node: NodeFigures): Promise<MetricsReport>;
}

type OpenRegistry = Registry<OpenMetricsContentType>;

/** Creates the metrics, with prom-client's default metrics of the process. */
export function createExposition({ calls, distributions, callMetrics, nodeMetrics }: ExposedMetrics): Exposition {
  const registry: OpenRegistry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  // Figures of the current scrape. The registry reads all metrics before it returns a promise, so concurrent scrapes do not mix them.
  let current: NodeFigures;
  for (const each of distributions) registerDistributions(each, registry);
  for (const row of callMetrics) registerRead(row, registry, () => calls);
  for (const row of nodeMetrics) registerRead(row, registry, () => current);
  collectDefaultMetrics({ register: registry });
  return {
    async text(node) {
      current = node;
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
    values(node) {
      current = node;
      return registry.getMetricsAsJSON();
    },
  };
}

function registerRead<Figures>(
  { name, help, type, labels, read, ofWorkers = 'sum' }: ReadMetric<Figures>,
  registry: OpenRegistry,
  figures: () => Figures,
): void {
  const options = { name, help, labelNames: labels, registers: [registry], aggregator: ofWorkers };
  const collect = (metric: Counter | Gauge): void => {
    metric.reset();
    for (const sample of read(figures())) metric.inc(labelled(labels, sample.labels), sample.value);
  };
  if (type === 'counter') {
    new Counter({
      ...options,
      collect() {
        collect(this);
      },
    });
  } else {
    new Gauge({
      ...options,
      collect() {
        collect(this);
      },
    });
  }
}

/**
 * Registers histograms. prom-client's own would look up labels at each observation, which takes ten times as long (`bench/metrics.ts`), and
 * its counts cannot be set.
 */
export function registerDistributions(distributions: Distributions, registry: OpenRegistry): void {
  const { name, help } = distributions.row;
  const metric = {
    name,
    help,
    type: 'histogram',
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: distributions.samples() }),
    reset: () => undefined,
  };
  // The type of the parameter accepts only classes of the library, but the registry uses only these members.
  registry.registerMetric(metric as unknown as Gauge);
}
