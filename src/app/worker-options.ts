import type { MetricsPage } from '../api/metrics.ts';
import type { ReadReadiness } from '../http/health.ts';
import type { Part } from '../lib/part.ts';
import type { Guesses } from './guesses.ts';

/** What a gateway has from the primary, if it is one of several workers. */
export interface WorkerOptions {
  /** What it has of the limits that workers share. */
  readonly part: Part;
  /** What the primary counts for all workers. */
  readonly guesses: Guesses;
  /** The metrics of all workers. */
  readonly scrapeAll: () => Promise<MetricsPage>;
  /** Whether all workers are ready. */
  readonly readReadiness: ReadReadiness;
}
