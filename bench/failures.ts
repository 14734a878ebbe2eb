import { BARE, failuresOf, type ScenarioResult } from './report.ts';
import { DATABASE_KINDS } from './targets.ts';

/** One line per target and scenario with failed calls: how many, and status and code of the first. */
export function describeFailures(results: readonly ScenarioResult[]): string[] {
  return results.flatMap((result) => failuresOf(result).map((line) => `${result.scenario.name}, ${line}`));
}

/**
 * Whether calls of the gateway or the bare proxy failed, which makes their figures meaningless, so they are not recorded. Failures of
 * peers are no fault of this version, and are reported below their table.
 */
export function hasFailed(results: readonly ScenarioResult[]): boolean {
  const own: readonly string[] = [BARE, ...DATABASE_KINDS];
  return results.some(({ lines }) => lines.some(({ name, failures }) => failures > 0 && own.includes(name)));
}
