import { Gauge, type OpenMetricsContentType, type Registry } from 'prom-client';
import type { HistogramRow } from './metric.ts';

/** Events sorted by size, for one set of labels. */
export class Distribution {
  readonly #bounds: readonly number[];
  /** Those that are no greater than a bound, and greater than the one before; behind them the rest. */
  readonly #counts: Float64Array;
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#count++;
    this.#sum += value;
  }

  /** The samples of a histogram: what is below each bound and in all, and the sum. */
  samples(name: string, labels: Readonly<Record<string, string>>) {
    let below = 0;
    const buckets = this.#bounds.map((bound, bucket) => {
      below += this.#counts[bucket]!;
      return { metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: this.#count },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ];
  }
}

/**
 * A histogram of distributions, which are counted without it: that of prom-client looks its labels up at each event, which
 * takes ten times as long (`bench/metrics.ts`), and has no way to set what it has counted.
 */
export class DistributionMetric extends Gauge {
  readonly #row: HistogramRow;
  readonly #distributions: { readonly labels: Record<string, string>; readonly distribution: Distribution }[] = [];

  constructor(row: HistogramRow, registry: Registry<OpenMetricsContentType>) {
    super({ name: row.name, help: row.help, registers: [registry] });
    this.#row = row;
  }

  /** Adds a distribution; each set of labels once. */
  add(...values: readonly string[]): Distribution {
    const distribution = new Distribution(this.#row.buckets);
    const labels = Object.fromEntries(this.#row.labels.map((label, i) => [label, values[i]!]));
    this.#distributions.push({ labels, distribution });
    return distribution;
  }

  override async get() {
    const { name, help } = this.#row;
    const values = this.#distributions.flatMap(({ labels, distribution }) => distribution.samples(name, labels));
    // The types of the library have a number for each type, and its code the word.
    return { ...(await super.get()), name, help, type: 'histogram' as never, values };
  }
}
