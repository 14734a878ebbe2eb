import { AggregatorRegistry, type OpenMetricsContentType, Registry } from 'prom-client';

export type MetricsReport = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

const GROWING: readonly string[] = ['counter', 'histogram'];

/** Returns the counters of a report. Gauges are left out: they mean nothing when their process does not respond. */
export function countersOf(report: MetricsReport): MetricsReport {
  // The library declares `type` as a number, but its values are words.
  return report.filter(({ type }) => GROWING.includes(type as unknown as string));
}

/** Combines reports. Each gauge is combined as its row says; all other metrics are summed. */
export function addReports(reports: readonly MetricsReport[]): Promise<MetricsReport> {
  return added(reports).getMetricsAsJSON();
}

/** Formats reports as OpenMetrics. */
export async function printReports(reports: readonly MetricsReport[]): Promise<MetricsText> {
  // The library appends `_total` to names of summed counters, even if they end in it already.
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
