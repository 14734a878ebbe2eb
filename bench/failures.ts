import { BARE, failuresOf, type ScenarioResult } from './report.ts';
import { DATABASE_KINDS } from './targets.ts';

/** Lines for all calls of a run that failed: of which target in which scenario, how many, and the status and code of the first. */
export function describeFailures(results: readonly ScenarioResult[]): string[] {
  return results.flatMap((result) => failuresOf(result).map((line) => `${result.scenario.name}, ${line}`));
}

/**
 * Whether calls of the gateway or of the bare proxy failed: then its figures are not those of calls that are served, and are not
 * recorded. What a peer cannot do is no fault of this version, and is said below its table.
 */
export function hasFailed(results: readonly ScenarioResult[]): boolean {
  const own: readonly string[] = [BARE, ...DATABASE_KINDS];
  return results.some(({ lines }) => lines.some(({ name, failures }) => failures > 0 && own.includes(name)));
}
