import { median } from './quantile.ts';
import { BARE, type ScenarioResult } from './report.ts';
import type { FigureKey } from './scenarios.ts';

/** What the gate watches, as multiples of the bare proxy's, by engine. */
export interface GateRatios {
  readonly cpuACall: number | null;
  readonly cpuAChunk: number | null;
  readonly memoryAStream: number | null;
}

/** The file of the last recorded run. */
export interface Recorded {
  readonly recordedAt: string;
  /** The commit that was measured. */
  readonly revision: string;
  readonly node: string;
  readonly machine: string;
  readonly ratios: Readonly<Record<string, GateRatios>>;
}

const ROWS = [
  ['cpuACall', 'CPU a call'],
  ['cpuAChunk', 'CPU a chunk'],
  ['memoryAStream', 'memory a stream'],
] as const;

/** The ratios of every line beside the bare proxy, by its name. */
export function gateRatios(results: readonly ScenarioResult[]): Record<string, GateRatios> {
  const names = new Set(results.flatMap(({ lines }) => lines.map(({ name }) => name)));
  names.delete(BARE);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      {
        cpuACall: ratio(results, 'chat', name, 'cpuMicros'),
        cpuAChunk: ratio(results, 'streams', name, 'cpuMicros'),
        memoryAStream: ratio(results, 'streams', name, 'kbAStream'),
      },
    ]),
  );
}

/** The median of what each round is of the bare proxy's; `null` where one of them has none. */
function ratio(results: readonly ScenarioResult[], kind: string, name: string, key: FigureKey): number | null {
  const result = results.find(({ scenario }) => scenario.name.startsWith(`${kind}-`));
  const rounds = result?.lines.find((line) => line.name === name)?.rounds ?? [];
  const bare = result?.lines.find((line) => line.name === BARE)?.rounds ?? [];
  return median(
    rounds.map((round, i) => {
      const [one, other] = [round[key] ?? null, bare[i]?.[key] ?? null];
      return one === null || other === null || other === 0 ? null : one / other;
    }),
  );
}

/** A line for each ratio: now, as it was recorded, and what the one is of the other. */
export function renderGate(ratios: Readonly<Record<string, GateRatios>>, recorded: Recorded | null): string {
  const head = ['multiples of a bare proxy', 'now', 'recorded', 'now : recorded'];
  const rows = Object.entries(ratios).flatMap(([name, now]) =>
    ROWS.map(([key, title]) => {
      const [one, other] = [now[key], recorded?.ratios[name]?.[key] ?? null];
      return [
        `${name}, ${title}`,
        shown(one),
        shown(other),
        shown(one === null || other === null ? null : one / other),
      ];
    }),
  );
  const last =
    recorded === null
      ? 'Nothing was recorded yet: npm run bench -- --gate --record'
      : `Recorded ${recorded.recordedAt} at ${recorded.revision} with Node ${recorded.node} on ${recorded.machine}.`;
  return [...[head, ...rows].map(line), last].join('\n');
}

function line([title, ...cells]: readonly string[]): string {
  return title!.padEnd(30) + cells.map((cell) => cell.padStart(16)).join('');
}

function shown(value: number | null): string {
  return value === null ? '-' : value.toFixed(2);
}
