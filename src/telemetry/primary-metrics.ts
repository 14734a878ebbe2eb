import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { servingMetrics } from './serving-metrics.ts';
import type { MetricsReport } from './summed-metrics.ts';

/** The report of a primary, which is added to those of its workers: its process, and that workers are missing. */
export interface PrimaryMetrics {
  /** `isComplete`: whether each worker has given its own. */
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
  // It is none itself; with no worker at all this is what is left.
  gaugeOf('faregate_workers_reporting').set(0);
  const ready = gaugeOf('faregate_ready');
  return {
    report(isComplete) {
      ready.set(Number(isComplete));
      return registry.getMetricsAsJSON();
    },
  };
}
