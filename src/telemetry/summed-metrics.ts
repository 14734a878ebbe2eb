import { AggregatorRegistry, type OpenMetricsContentType, Registry } from 'prom-client';

/** The metrics of one process as values. */
export type MetricsReport = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

const GROWING: readonly string[] = ['counter', 'histogram'];

/** Returns the counters and histograms of a report. Gauges are omitted, because they are meaningless when their process does not respond. */
export function countersOf(report: MetricsReport): MetricsReport {
  // The library declares `type` as a number, but its values are words.
  return report.filter(({ type }) => GROWING.includes(type as unknown as string));
}

/** Combines reports: sums counters and histograms, and combines each gauge as its row specifies. */
export function addReports(reports: readonly MetricsReport[]): Promise<MetricsReport> {
  return added(reports).getMetricsAsJSON();
}

/** Combines reports into one text in the OpenMetrics format. */
export async function printReports(reports: readonly MetricsReport[]): Promise<MetricsText> {
  // The library appends `_total` to the names of summed counters, even if they already end in it.
  const named = reports.map((report) =>
    report.map((metric) => ({ ...metric, name: metric.name.replace(/_total$/, '') })),
  );
  const registry = added(named);
  return { contentType: registry.contentType, text: await registry.metrics() };
}

function added(reports: readonly MetricsReport[]): Registry<OpenMetricsContentType> {
  const registry = AggregatorRegistry.aggregate<OpenMetricsContentType>([...reports]);
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}
