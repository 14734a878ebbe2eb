import type { Readiness, ReadReadiness } from '../http/health.ts';
import { InTime, LATE } from '../lib/in-time.ts';
import type { ProcessLink } from '../lib/process-link.ts';
import { shareUnderWay } from '../lib/shared-reads.ts';
import { createPrimaryMetrics, type PrimaryMetrics } from '../telemetry/primary-metrics.ts';
import {
  addReports,
  countersOf,
  type MetricsReport,
  type MetricsText,
  printReports,
} from '../telemetry/summed-metrics.ts';

/** A worker that there should be. */
export interface AskedWorker {
  /** From 1. */
  readonly number: number;
  /** `null`: it does not run. */
  readonly link: ProcessLink | null;
}

/** What a worker says of itself, `late`: nothing in time, `absent`: it does not run. */
export type WorkerReadiness = Readiness | 'late' | 'absent';

/** A worker asks its database for a second at most, and then says something in either way. */
const READINESS_MS = 1_500;
const REPORT_MS = 2_000;

/**
 * What is served for all workers at once: whether they are ready, and their metrics. Each is asked in bounded time, so that one
 * that hangs keeps nobody from what the others say.
 *
 * Counters never fall: of a worker that does not respond they are those that it said last, and those of workers that have ended stay.
 */
export class AllWorkers {
  readonly #workers: () => readonly AskedWorker[];
  readonly #readinessInTime = new InTime(READINESS_MS);
  readonly #reportInTime = new InTime(REPORT_MS);
  readonly #lastCounters = new Map<number, MetricsReport>();
  /** Of all workers that have ended. */
  #ended: MetricsReport = [];
  #adding: Promise<void> = Promise.resolve();
  #primary: PrimaryMetrics | null = null;

  /** `workers`: all that there should be. */
  constructor(workers: () => readonly AskedWorker[]) {
    this.#workers = workers;
  }

  /** Asked once for all who want to know at the same time. */
  readonly readReadiness: ReadReadiness = shareUnderWay(() => this.#readReadiness());

  /** Scrapes at the same time get the same text. */
  readonly scrape = shareUnderWay((): Promise<MetricsText> => this.#scrape());

  /** A worker has ended: what it counted until it was asked last stays. */
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
    const said = workers.map(({ number }, index) => reports[index] ?? this.#lastCounters.get(number) ?? []);
    return printReports([...said, this.#ended, await this.#primary.report(isComplete)]);
  }

  /** `null` if it says nothing in time. */
  async #reportOf({ link }: AskedWorker): Promise<MetricsReport | null> {
    if (link === null) return null;
    const report = await this.#reportInTime.of(link.ask<MetricsReport>('report')).catch(() => null);
    return report === LATE ? null : report;
  }
}

/** All are ready, or those that are not are named. What all say is said once. */
export function readinessOfAll(workers: readonly (readonly [number: number, WorkerReadiness])[]): Readiness {
  const said = workers.map(([number, worker]) => [number, detailOf(worker)] as const);
  const common = said.reduce(
    (shared, [, detail]) => shared.filter((sentence) => detail.includes(sentence)),
    said[0]?.[1] ?? [],
  );
  const own = said.flatMap(([number, detail]) =>
    detail.filter((sentence) => !common.includes(sentence)).map((sentence) => `Worker ${number}: ${sentence}`),
  );
  const isReady = workers.every(([, worker]) => typeof worker === 'object' && worker.isReady);
  return { isReady, detail: [...common, ...own] };
}

function detailOf(worker: WorkerReadiness): readonly string[] {
  if (worker === 'absent') return ['It does not run.'];
  if (worker === 'late') return ['It does not respond.'];
  return worker.isReady || worker.detail.length > 0 ? worker.detail : ['It takes no calls.'];
}
