import { type InnocentCall, LOOK } from './scene/innocent-call.ts';
import { yuanOf } from './scene/models.ts';
import type { AttackReport, MoneyRow } from './scene/scene.ts';

/** The report of a run, and what makes it fail. */

/** The latencies of the innocent caller during a span of time. */
export interface Waits {
  readonly calls: number;
  /** Latencies at the console, which sends fewer requests. */
  readonly consoleP99Ms: number;
  readonly failures: readonly string[];
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export function waitsOf(calls: readonly InnocentCall[]): Waits {
  const sorted = sortedMs(calls.filter(({ kind }) => kind !== LOOK));
  const consoleP99Ms = quantile(sortedMs(calls.filter(({ kind }) => kind === LOOK)), 0.99);
  const failures = calls.flatMap(({ kind, failure }) => (failure === null ? [] : [`${kind}: ${failure}`]));
  return { calls: calls.length, consoleP99Ms, failures, p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}

function sortedMs(calls: readonly InnocentCall[]): number[] {
  return calls.map(({ tookMs }) => tookMs).toSorted((left, right) => left - right);
}

/** The smallest value that this share of all values does not exceed. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** The findings of an attack, and the innocent caller's calls during it. */
export interface Outcome {
  readonly name: string;
  readonly report: AttackReport;
  readonly before: Waits;
  readonly during: Waits;
  readonly memoryMiB: number;
  readonly memoryMiBMax: number;
  /** How the gateway exited, if it did. */
  readonly death: string | null;
}

/** Conditions that make the run fail. Latencies do not, because machines vary. */
export function problemsOf({ report, during, memoryMiB, memoryMiBMax, death }: Outcome): string[] {
  const { calls, failures } = during;
  return [
    ...(death === null ? [] : [`the gateway ${death}`]),
    ...(failures.length === 0
      ? []
      : [`${failures.length} of ${calls} calls of the innocent caller failed, such as ${failures[0]}`]),
    ...(calls === 0 ? ['the innocent caller made no call'] : []),
    ...(memoryMiB > memoryMiBMax ? [`memory grew by ${Math.round(memoryMiB)} MiB, more than ${memoryMiBMax}`] : []),
    ...report.problems,
  ];
}

const WAITS_HEAD = [
  'attack',
  'its responses',
  'innocent calls',
  'failed',
  'p50 ms before',
  'during',
  'p99 ms before',
  'during',
  'ratio',
  'console p99 ms before',
  'during',
  'memory MiB',
  '',
];

export function waitsTable(outcomes: readonly Outcome[]): string {
  return table(
    WAITS_HEAD,
    outcomes.map((outcome) => {
      const { name, report, before, during, memoryMiB } = outcome;
      return [
        name,
        responsesText(report.responses),
        String(during.calls),
        String(during.failures.length),
        before.p50Ms.toFixed(1),
        during.p50Ms.toFixed(1),
        before.p99Ms.toFixed(1),
        during.p99Ms.toFixed(1),
        (during.p99Ms / before.p99Ms).toFixed(1),
        before.consoleP99Ms.toFixed(1),
        during.consoleP99Ms.toFixed(1),
        `${memoryMiB < 0 ? '' : '+'}${Math.round(memoryMiB)}`,
        problemsOf(outcome).length === 0 ? 'ok' : 'FAILED',
      ];
    }),
  );
}

const MONEY_HEAD = ['money', 'provided', 'reported', 'charged ¥', 'billed ¥', 'share', 'held ¥'];

export function moneyTable(outcomes: readonly Outcome[]): string {
  return table(
    MONEY_HEAD,
    outcomes
      .flatMap(({ report }) => report.money)
      .map(({ what, provided, reported, chargedNano, billedNano, heldNano }: MoneyRow) => [
        what,
        String(provided),
        String(reported),
        yuanOf(BigInt(chargedNano)),
        yuanOf(BigInt(billedNano)),
        BigInt(billedNano) === 0n ? '' : (Number(chargedNano) / Number(billedNano)).toFixed(3),
        heldNano === null ? '' : yuanOf(BigInt(heldNano)),
      ]),
  );
}

/** Notes and problems of attacks, in addition to figures. */
export function remarks(outcomes: readonly Outcome[]): string {
  return outcomes
    .flatMap((outcome) => [
      ...outcome.report.notes.map((note) => `${outcome.name}: ${note}`),
      ...problemsOf(outcome).map((problem) => `${outcome.name} FAILED: ${problem}`),
    ])
    .join('\n');
}

function responsesText(responses: Readonly<Record<string, number>>): string {
  return Object.entries(responses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');
}

/** A Markdown table with columns aligned for terminals. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
