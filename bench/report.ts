/** What one round showed of one line. */
export interface Measured {
  readonly callsPerSecond: number;
  /** Time of a call, as its client sees it. */
  readonly medianMs: number;
  /** CPU time of the target's process for each call. */
  readonly cpuMicros: number;
  /** Transactions that wrote for each call; `null` if they cannot be counted. */
  readonly commits: number | null;
}

/** A line of the report: what was measured, of which version, round by round. */
export interface Series {
  readonly name: string;
  readonly scenario: string;
  /** `before`, `after`, or empty if one version is measured. */
  readonly version: string;
  readonly idleBytes: number;
  readonly rounds: Measured[];
}

const HEAD = ['calls/s', 'of bare', 'p50 ms', 'CPU µs/call', 'commits/call', 'idle MB'];
const NAME_WIDTH = 44;
const CELL_WIDTH = 14;

/**
 * The medians of all series as a table. Behind each `after` stands what it is of the `before` above it: the median of the
 * ratios of rounds that took turns, because a machine that is slow for a while is so for both.
 */
export function renderReport(all: readonly Series[], bare: Series): string {
  const rows = [row('', HEAD)];
  const bareRate = medianOf(bare, 'callsPerSecond')!;
  for (const series of all) {
    const rate = medianOf(series, 'callsPerSecond')!;
    rows.push(
      row([series.name, series.scenario, series.version].filter((part) => part !== '').join(', '), [
        Math.round(rate).toLocaleString('en'),
        (rate / bareRate).toFixed(2),
        medianOf(series, 'medianMs')!.toFixed(2),
        medianOf(series, 'cpuMicros')!.toFixed(0),
        medianOf(series, 'commits')?.toFixed(3) ?? '-',
        (series.idleBytes / 1e6).toFixed(0),
      ]),
    );
    const before = series.version === 'after' ? counterpart(series, all) : undefined;
    if (before !== undefined) {
      const ratios = (['callsPerSecond', 'medianMs', 'cpuMicros', 'commits'] as const).map(
        (field) => medianRatio(series, before, field)?.toFixed(2) ?? '-',
      );
      const [calls, ...rest] = ratios;
      rows.push(row('  after : before', [calls!, '', ...rest, (series.idleBytes / before.idleBytes).toFixed(2)]));
    }
  }
  return rows.join('\n');
}

function counterpart({ name, scenario }: Series, all: readonly Series[]): Series | undefined {
  return all.find((other) => other.version === 'before' && other.name === name && other.scenario === scenario);
}

function medianOf({ rounds }: Series, field: keyof Measured): number | null {
  return median(rounds.map((measured) => measured[field]));
}

function medianRatio(after: Series, before: Series, field: keyof Measured): number | null {
  return median(
    after.rounds.map((measured, i) => {
      const [one, other] = [measured[field], before.rounds[i]![field]];
      return one === null || other === null ? null : one / other;
    }),
  );
}

function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  return known.toSorted((left, right) => left - right)[Math.floor(known.length / 2)]!;
}

function row(name: string, cells: readonly string[]): string {
  return name.padEnd(NAME_WIDTH) + cells.map((cell) => cell.padStart(CELL_WIDTH)).join('');
}
