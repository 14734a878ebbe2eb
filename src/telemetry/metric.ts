/** One value of a metric: the values of its labels, in the order of the metric's row. */
export interface Sample {
  readonly labels: readonly string[];
  readonly value: number;
}

export interface MetricRow {
  /** By the rules of OpenMetrics: what is counted ends with `_total`, and the unit stands before that. */
  readonly name: string;
  /** Their values come from the configuration, or from lists in the code: never accounts, keys, or texts of clients. */
  readonly labels: readonly string[];
  readonly unit: string;
  readonly help: string;
  /** What of the values of several workers is shown. Counters and histograms are summed, so it is absent there; a gauge has to say. */
  readonly ofWorkers?: OfWorkers;
}

/** The sum of the workers' values, or the lowest, or the highest of them. */
export type OfWorkers = 'sum' | 'min' | 'max';

/** A metric that is read from figures that others keep. */
export interface ReadMetric<Figures> extends MetricRow {
  readonly type: 'counter' | 'gauge';
  read(figures: Figures): Iterable<Sample>;
}

/** A metric of single events, sorted by size. */
export interface HistogramRow extends MetricRow {
  readonly type: 'histogram';
  readonly buckets: readonly number[];
}

/** A gauge without labels; true is 1, false 0. */
export function gauge<Figures>(
  row: Omit<MetricRow, 'labels'> & { ofWorkers: OfWorkers; value(figures: Figures): number | boolean },
): ReadMetric<Figures> {
  const { value, ...rest } = row;
  return { ...rest, type: 'gauge', labels: [], read: (figures) => [{ labels: [], value: Number(value(figures)) }] };
}

/** A sample for each item. */
export function each<Item>(
  items: readonly Item[],
  labels: (item: Item) => readonly string[],
  value: (item: Item) => number,
): Sample[] {
  return items.map((item) => ({ labels: labels(item), value: value(item) }));
}

/** Times from a millisecond to minutes. */
export const QUICK_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const;
export const SLOW_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
