import { AggregatorRegistry, type OpenMetricsContentType, Registry } from 'prom-client';

/** The metrics of one process as values. */
export type MetricsReport = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

const GROWING: readonly string[] = ['counter', 'histogram'];

/** What of a report only grows: the rest says nothing once its process does not respond. */
export function countersOf(report: MetricsReport): MetricsReport {
  // The types of the library have a number for each type, and its code the word.
  return report.filter(({ type }) => GROWING.includes(type as unknown as string));
}

/** One report with the values of all: counters and histograms summed, each gauge as its row says. */
export function addReports(reports: readonly MetricsReport[]): Promise<MetricsReport> {
  return added(reports).getMetricsAsJSON();
}

/** The values of all reports as a text of OpenMetrics. */
export async function printReports(reports: readonly MetricsReport[]): Promise<MetricsText> {
  // The library appends `_total` to the names of counters that it has added up, whether it is there already or not.
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
