import { parseArgs } from 'node:util';
import { parseDuration, parseNumber } from './options.ts';
import { commitOf, revisionsBetween } from './revisions.ts';
import type { Duration } from './rounds.ts';
import { parseScenarios, type Scenario } from './scenarios.ts';

/** Options of `npm run bench:history`. */
export interface HistoryOptions {
  /** Commits, in the order in which they are measured. */
  readonly revisions: readonly string[];
  readonly scenarios: readonly Scenario[];
  readonly duration: Duration;
  readonly isJson: boolean;
}

const DURATION: Duration = { rounds: 3, seconds: 3, warmUp: { seconds: null, atMostSeconds: 20 } };
const STEPS = 8;

/**
 * Reads the arguments, and resolves the revisions in the repository.
 *
 * @throws Error that names a wrong option and what is expected
 */
export function parseHistoryOptions(args: readonly string[], repository: string): HistoryOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      revisions: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      steps: { type: 'string' },
      scenario: { type: 'string', default: 'chat-64' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  return {
    revisions: chosen(values, repository),
    scenarios: parseScenarios(values.scenario),
    duration: parseDuration(values, DURATION),
    isJson: values.json,
  };
}

interface ChoiceValues {
  readonly revisions?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly steps?: string | undefined;
}

function chosen({ revisions, from, to, steps }: ChoiceValues, repository: string): string[] {
  const isRange = (from ?? to ?? steps) !== undefined;
  if (revisions !== undefined && isRange) {
    throw new Error('--revisions names all that are measured: leave out --from, --to and --steps.');
  }
  if (revisions !== undefined) return revisions.split(',').map((revision) => commitOf(revision.trim(), repository));
  if (from === undefined) {
    throw new Error('Say which revisions: --revisions A,B,… or --from A [--to B] [--steps N].');
  }
  const count = parseNumber('steps', steps, STEPS);
  if (!Number.isInteger(count)) throw new Error(`--steps: expected a whole number above zero; found "${steps}".`);
  return revisionsBetween(from, to ?? 'HEAD', count, repository);
}
