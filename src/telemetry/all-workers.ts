import type { Readiness, ReadReadiness } from '../http/health.ts';
import { InTime, LATE } from '../lib/in-time.ts';
import type { ProcessLink } from '../lib/process-link.ts';
import { shareInFlight } from '../lib/shared-reads.ts';
import { createPrimaryMetrics, type PrimaryMetrics } from './primary-metrics.ts';
import { addReports, countersOf, type MetricsReport, type MetricsText, printReports } from './summed-metrics.ts';

/** A configured worker. It may not be running. */
export interface AskedWorker {
  /** Number of the worker, from 1. */
  readonly number: number;
  /** Link to the worker; `null` while it is not running. */
  readonly link: ProcessLink | null;
}

/** Readiness of a worker. `late`: it did not reply in time. `absent`: it is not running. */
export type WorkerReadiness = Readiness | 'late' | 'absent';

/** Time limit of a reply. A worker needs up to a second to notice that its database does not respond. */
const READINESS_MS = 1_500;
const REPORT_MS = 2_000;

/**
 * Combines readiness and metrics of all workers. Each must reply before a deadline, so that one that hangs does not delay the others.
 * Counters never decrease: for a worker that does not reply or has exited, its last reported counters are included.
 */
export class AllWorkers {
  readonly #workers: () => readonly AskedWorker[];
  readonly #readinessInTime = new InTime(READINESS_MS);
  readonly #reportInTime = new InTime(REPORT_MS);
  readonly #lastCounters = new Map<number, MetricsReport>();
  /** Sums of the counters of workers that have exited. */
  #ended: MetricsReport = [];
  #adding: Promise<void> = Promise.resolve();
  #primary: PrimaryMetrics | null = null;

  constructor(workers: () => readonly AskedWorker[]) {
    this.#workers = workers;
  }

  /** Combined readiness. Concurrent callers share one round of requests. */
  readonly readReadiness: ReadReadiness = shareInFlight(() => this.#readReadiness());

  /** Combined metrics. Concurrent scrapes get the same text. */
  readonly scrape = shareInFlight((): Promise<MetricsText> => this.#scrape());

  /** Called when a worker has exited. The counters of its last report are kept. */
  left(number: number): void {
    const last = this.#lastCounters.get(number);
    this.#lastCounters.delete(number);
    if (last === undefined) return;
    this.#adding = this.#adding.then(async () => {
      this.#ended = await addReports([this.#ended, last]);
    });
  }

  async #readReadiness(): Promise<Readiness> {
    const asked = this.#workers().map(async ({ number, link }): Promise<[number, WorkerReadiness]> => {
      if (link === null) return [number, 'absent'];
      const reply = await this.#readinessInTime.of(link.ask<Readiness>('readiness')).catch(() => 'absent' as const);
      return [number, reply === LATE ? 'late' : reply];
    });
    return readinessOfAll(await Promise.all(asked));
  }

  async #scrape(): Promise<MetricsText> {
    const workers = this.#workers();
    this.#primary ??= createPrimaryMetrics(workers.length);
    const reports = await Promise.all(workers.map((worker) => this.#reportOf(worker)));
    await this.#adding;
    const isComplete = reports.every((report) => report !== null);
    for (const [index, { number }] of workers.entries()) {
      const report = reports[index] ?? null;
      if (report !== null) this.#lastCounters.set(number, countersOf(report));
    }
    const reported = workers.map(({ number }, index) => reports[index] ?? this.#lastCounters.get(number) ?? []);
    return printReports([...reported, this.#ended, await this.#primary.report(isComplete)]);
  }

  /** Returns the report of a worker; `null` if it does not reply in time. */
  async #reportOf({ link }: AskedWorker): Promise<MetricsReport | null> {
    if (link === null) return null;
    const report = await this.#reportInTime.of(link.ask<MetricsReport>('report')).catch(() => null);
    return report === LATE ? null : report;
  }
}

/** Combines readiness: the gateway is ready if all workers are. A detail that all workers report appears once; others name their worker. */
export function readinessOfAll(workers: readonly (readonly [number: number, WorkerReadiness])[]): Readiness {
  const details = workers.map(([number, worker]) => [number, detailOf(worker)] as const);
  const common = details.reduce(
    (shared, [, detail]) => shared.filter((sentence) => detail.includes(sentence)),
    details[0]?.[1] ?? [],
  );
  const own = details.flatMap(([number, detail]) =>
    detail.filter((sentence) => !common.includes(sentence)).map((sentence) => `Worker ${number}: ${sentence}`),
  );
  const isReady = workers.every(([, worker]) => typeof worker === 'object' && worker.isReady);
  return { isReady, detail: [...common, ...own] };
}

function detailOf(worker: WorkerReadiness): readonly string[] {
  if (worker === 'absent') return ['The process is not running.'];
  if (worker === 'late') return ['The process does not respond.'];
  return worker.isReady || worker.detail.length > 0 ? worker.detail : ['The process is not ready for calls.'];
}
