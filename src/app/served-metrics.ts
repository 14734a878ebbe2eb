import type { Guard } from '../api/management/guard.ts';
import { registerMetrics } from '../api/metrics.ts';
import { monitorEventLoop } from '../telemetry/event-loop.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { MetricsReport } from '../telemetry/summed-metrics.ts';
import { createMetricsServer, type MetricsServerOptions } from './metrics-server.ts';
import { createNodeFigures, type MeasuredParts } from './node-figures.ts';
import type { NodeStatus } from './node-status.ts';
import type { WorkerOptions } from './worker-options.ts';

interface ServedMetricsParts extends Omit<MeasuredParts, 'eventLoop' | 'isDatabaseUp' | 'takesCalls' | 'workers'> {
  readonly metrics: Metrics;
  /** Who may read them at the address of the gateway. */
  readonly guard: Guard;
  /** Where they are served without a token; nowhere if it is absent. */
  readonly address: MetricsServerOptions['address'] | undefined;
  readonly status: NodeStatus;
  /** Absent: this process is no worker. */
  readonly worker: WorkerOptions | undefined;
}

export interface ServedMetrics {
  /** The metrics of this process alone. */
  report(): Promise<MetricsReport>;
  /** Starts to serve at the address without a token, and returns it; `null` if there is none. */
  listen(): Promise<string | null>;
  close(): Promise<void>;
}

/** Wires metrics: what they are read from, and where they are served. Those of a worker are served by the primary, with those of the others. */
export function serveMetrics(parts: ServedMetricsParts): ServedMetrics {
  const { app, metrics, guard, address, status, worker, clock, ids, logger } = parts;
  const eventLoop = monitorEventLoop();
  const readNode = createNodeFigures({ ...parts, ...status, eventLoop, workers: worker?.part.count ?? 1 });
  const scrape = worker?.scrapeAll ?? (() => metrics.scrape(readNode));
  registerMetrics(app, scrape, guard);
  const { readReadiness } = status;
  const server =
    address === undefined || worker !== undefined
      ? null
      : createMetricsServer({ address, scrape, readReadiness, clock, ids, logger });
  return {
    report: () => metrics.report(readNode),
    listen: async () => (await server?.listen()) ?? null,
    async close() {
      await server?.close();
      eventLoop.stop();
    },
  };
}
