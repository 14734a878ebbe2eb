export interface Sample {
  /** Values of the labels, in the order of the metric's label names. */
  readonly labels: readonly string[];
  readonly value: number;
}

export interface MetricRow {
  /** Name of the metric. OpenMetrics requires that the name of a counter ends in its unit and `_total`. */
  readonly name: string;
  /** Names of the labels. Their values come from the configuration or from lists in the code, never from accounts, keys or clients. */
  readonly labels: readonly string[];
  readonly unit: string;
  readonly help: string;
  /** How the values of several workers are combined. Required for gauges; counters and histograms are always summed. */
  readonly ofWorkers?: OfWorkers;
}

type OfWorkers = 'sum' | 'min' | 'max';

/** A metric that a scrape reads from figures. */
export interface ReadMetric<Figures> extends MetricRow {
  readonly type: 'counter' | 'gauge';
  read(figures: Figures): Iterable<Sample>;
}

export interface HistogramRow extends MetricRow {
  readonly type: 'histogram';
  readonly buckets: readonly number[];
}

interface Reading<Item> {
  readonly help: string;
  value(item: Item): number | boolean;
}

/** Creates metrics with a sample for each item. `sum`, `lowest` and `highest` create gauges and combine the values of several workers. */
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

export function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, i) => [name, values[i]!]));
}

export function histogram(
  name: string,
  unit: string,
  buckets: readonly number[],
  { help, labels = [] }: { readonly help: string; readonly labels?: readonly string[] },
): HistogramRow {
  return { type: 'histogram', name, labels, unit, buckets, help };
}

/** Upper bounds of buckets: for seconds of database work, for seconds of calls, and for calls per batch. */
export const QUICK_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const;
export const SLOW_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
