import { BARE, compare, type ScenarioResult } from './report.ts';
import type { FigureKey, Kind } from './scenarios.ts';

/** Figures that the gate compares, as multiples of the bare proxy's. */
export interface GateRatios {
  readonly cpuACall: number | null;
  /** Including the database server. */
  readonly bothACall: number | null;
  readonly cpuAChunk: number | null;
  readonly memoryAStream: number | null;
}

/** The file of the last recorded run. */
export interface Recorded {
  readonly recordedAt: string;
  /** The measured commit. */
  readonly revision: string;
  readonly node: string;
  readonly machine: string;
  readonly ratios: Readonly<Record<string, GateRatios>>;
}

const ROWS = [
  ['cpuACall', 'CPU a call'],
  ['bothACall', 'with database'],
  ['cpuAChunk', 'CPU a chunk'],
  ['memoryAStream', 'memory a stream'],
] as const;

/** The figures of every line relative to the bare proxy, by name. */
export function gateRatios(results: readonly ScenarioResult[]): Record<string, GateRatios> {
  const names = new Set(results.flatMap(({ lines }) => lines.map(({ name }) => name)));
  names.delete(BARE);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      {
        cpuACall: besideBare(results, 'chat', name, 'cpuMicros'),
        bothACall: besideBare(results, 'chat', name, 'bothMicros'),
        cpuAChunk: besideBare(results, 'streams', name, 'cpuMicros'),
        memoryAStream: besideBare(results, 'streams', name, 'kbAStream'),
      },
    ]),
  );
}

function besideBare(results: readonly ScenarioResult[], kind: Kind, name: string, key: FigureKey): number | null {
  const lines = results.find(({ scenario }) => scenario.name.startsWith(`${kind}-`))?.lines ?? [];
  const [line, bare] = [name, BARE].map((wanted) => lines.find((candidate) => candidate.name === wanted));
  return line === undefined || bare === undefined ? null : compare(line, bare, key, 'ratio');
}

/** A line per ratio: now, as recorded, and their quotient. */
export function renderGate(ratios: Readonly<Record<string, GateRatios>>, recorded: Recorded | null): string {
  const head = ['of a bare proxy', 'now', 'recorded', 'now : recorded'];
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
