import { Counter, collectDefaultMetrics, Gauge, type OpenMetricsContentType, Registry } from 'prom-client';
import type { CallCounts } from './call-counts.ts';
import type { Distributions } from './distribution.ts';
import { labelled, type ReadMetric } from './metric.ts';
import type { NodeFigures } from './node-figures.ts';
import type { MetricsReport, MetricsText } from './summed-metrics.ts';

interface ExposedParts {
  readonly distributions: readonly Distributions[];
  readonly callMetrics: readonly ReadMetric<CallCounts>[];
  readonly nodeMetrics: readonly ReadMetric<NodeFigures>[];
}

/** The metrics of a node as others read them. */
export interface Exposition {
  /** Takes the figures of this moment. */
  readonly copy: (calls: CallCounts, node: NodeFigures) => void;
  /** What was taken, as a text of OpenMetrics. */
  readonly text: () => Promise<MetricsText>;
  /** The same as values. */
  readonly values: () => Promise<MetricsReport>;
}

/** Registers all metrics at prom-client, and its own of the process, which watch that until it ends. */
export function createExposition({ distributions, callMetrics, nodeMetrics }: ExposedParts): Exposition {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const each of distributions) new DistributionMetric(each, registry);
  const copyCalls = callMetrics.map((row) => copierOf(row, registry));
  const copyNode = nodeMetrics.map((row) => copierOf(row, registry));
  collectDefaultMetrics({ register: registry });
  return {
    copy(calls, node) {
      for (const copy of copyCalls) copy(calls);
      for (const copy of copyNode) copy(node);
    },
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    values: () => registry.getMetricsAsJSON(),
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

/**
 * Distributions as a histogram of a registry. They are counted without the library: its own looks labels up at each event, which takes
 * ten times as long (`bench/metrics.ts`), and has no way to set what it has counted.
 */
export class DistributionMetric extends Gauge {
  readonly #distributions: Distributions;

  constructor(distributions: Distributions, registry: OpenRegistry) {
    const { name, help } = distributions.row;
    super({ name, help, registers: [registry] });
    this.#distributions = distributions;
  }

  override async get() {
    const { name, help } = this.#distributions.row;
    // The types of the library have a number for each type, and its code the word.
    return { ...(await super.get()), name, help, type: 'histogram' as never, values: this.#distributions.samples() };
  }
}
