import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { servingMetrics } from './serving-metrics.ts';
import type { MetricsReport } from './summed-metrics.ts';

/** Metrics of the primary process, which are added to those of its workers. */
export interface PrimaryMetrics {
  /** Returns a report. `isComplete`: every worker has sent its own. */
  report(isComplete: boolean): Promise<MetricsReport>;
}

export function createPrimaryMetrics(workers: number): PrimaryMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gaugeOf = (wanted: string): Gauge => {
    const { name, help, ofWorkers = 'sum' } = servingMetrics.find(({ name }) => name === wanted)!;
    return new Gauge({ name, help, registers: [registry], aggregator: ofWorkers });
  };
  gaugeOf('faregate_workers').set(workers);
  // The number is 0, because the primary is not a worker.
  gaugeOf('faregate_workers_reporting').set(0);
  const ready = gaugeOf('faregate_ready');
  return {
    report(isComplete) {
      ready.set(Number(isComplete));
      return registry.getMetricsAsJSON();
    },
  };
}
