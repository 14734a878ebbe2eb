import { type HistogramRow, labelled } from './metric.ts';

/** A histogram for one set of labels. */
export class Distribution {
  readonly #bounds: readonly number[];
  /** Counts per bucket: values above the previous bound, up to its own. The last one has the values above all bounds. */
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

  /** Returns what Prometheus expects: cumulative buckets, a sum and a count. */
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

export class Distributions {
  readonly row: HistogramRow;
  readonly #distributions: { readonly labels: Record<string, string>; readonly distribution: Distribution }[] = [];

  constructor(row: HistogramRow) {
    this.row = row;
  }

  /** Adds a histogram. Call this once for each set of labels. */
  add(...values: readonly string[]): Distribution {
    const distribution = new Distribution(this.row.buckets);
    this.#distributions.push({ labels: labelled(this.row.labels, values), distribution });
    return distribution;
  }

  samples() {
    return this.#distributions.flatMap(({ labels, distribution }) => distribution.samples(this.row.name, labels));
  }
}
