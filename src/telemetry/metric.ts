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

/** What a metric is, in words, and how it is read of an item; true is 1, false 0. */
interface Reading<Item> {
  readonly help: string;
  value(item: Item): number | boolean;
}

/**
 * Makes the rows of metrics with a sample for each of some items, by its labels. Gauges are called by what is shown of the values of several
 * workers.
 */
export function metricsOf<Figures, Item>(
  itemsOf: (figures: Figures) => Iterable<Item>,
  labels: Readonly<Record<string, (item: Item) => string>> = {},
) {
  const labelsOf = Object.values(labels);
  const rows =
    (kind: { readonly type: ReadMetric<Figures>['type']; readonly ofWorkers?: OfWorkers }) =>
    (name: string, unit: string, { help, value }: Reading<Item>): ReadMetric<Figures> => ({
      ...kind,
      name,
      unit,
      help,
      labels: Object.keys(labels),
      *read(figures) {
        for (const item of itemsOf(figures)) {
          yield { labels: labelsOf.map((labelOf) => labelOf(item)), value: Number(value(item)) };
        }
      },
    });
  return {
    counter: rows({ type: 'counter' }),
    sum: rows({ type: 'gauge', ofWorkers: 'sum' }),
    lowest: rows({ type: 'gauge', ofWorkers: 'min' }),
    highest: rows({ type: 'gauge', ofWorkers: 'max' }),
  };
}

/** The values of labels by their names. */
export function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, i) => [name, values[i]!]));
}

/** Makes the row of a metric of single events. */
export function histogram(
  name: string,
  unit: string,
  buckets: readonly number[],
  { help, labels = [] }: { readonly help: string; readonly labels?: readonly string[] },
): HistogramRow {
  return { type: 'histogram', name, labels, unit, buckets, help };
}

/** Times from a millisecond to minutes. */
export const QUICK_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const;
export const SLOW_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
