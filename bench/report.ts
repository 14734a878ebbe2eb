import { markdownTable } from '../scripts/markdown.ts';
import { median } from './quantile.ts';
import type { Column, FigureKey, Figures, Scenario } from './scenarios.ts';

/** The name of the bare proxy, with which all others are compared. */
export const BARE = 'bare proxy';

/** The figures of one target in one scenario. */
export interface LineResult {
  readonly name: string;
  /** `before`, `after`, or empty if only one version is measured. */
  readonly version: string;
  /** Name of the line with which it is compared; absent: the bare proxy. */
  readonly twin?: string | undefined;
  /** One per round. The rounds of all lines of a scenario took turns. */
  readonly rounds: readonly Figures[];
  readonly failures: number;
  readonly firstFailure: string | null;
}

export interface ScenarioResult {
  readonly scenario: Pick<Scenario, 'name' | 'what' | 'size' | 'unit' | 'columns' | 'isTranslated'>;
  readonly lines: readonly LineResult[];
}

/** One figure of a line: medians over all rounds. */
export interface Summary {
  readonly value: number | null;
  /** The median over rounds of the ratio to, or difference from, the bare proxy or the relayed twin. */
  readonly toBare: number | null;
  /** For a line `after`: the median over rounds of the ratio to `before`. */
  readonly toBefore: number | null;
}

export interface LineSummary extends Omit<LineResult, 'rounds'> {
  readonly figures: Readonly<Partial<Record<FigureKey, Summary>>>;
}

/** The medians of a scenario. Ratios are medians of the ratios of neighbouring rounds, because a slow machine slows all of them. */
export function summarise({ scenario, lines }: ScenarioResult): LineSummary[] {
  return lines.map((line) => {
    const { version, twin = BARE } = line;
    const bare = lines.find((other) => other.name === twin && (twin === BARE || other.version === version));
    const { rounds, ...rest } = line;
    const before = line.version === 'after' ? counterpart(line, lines) : undefined;
    const figures: Partial<Record<FigureKey, Summary>> = {};
    for (const { key, against } of scenario.columns) {
      figures[key] = {
        value: median(rounds.map((round) => round[key] ?? null)),
        toBare: line === bare || bare === undefined || against === 'nothing' ? null : compare(line, bare, key, against),
        toBefore: before === undefined ? null : compare(line, before, key, 'ratio'),
      };
    }
    return { ...rest, figures };
  });
}

function counterpart({ name }: LineResult, all: readonly LineResult[]): LineResult | undefined {
  return all.find((other) => other.version === 'before' && other.name === name);
}

/** The median over rounds of one line's ratio to, or difference from, another; `null` if one of them has no figures. */
export function compare(
  line: LineResult,
  other: LineResult,
  key: FigureKey,
  by: 'ratio' | 'difference',
): number | null {
  return median(
    line.rounds.map((round, i) => {
      const [one, two] = [round[key] ?? null, other.rounds[i]?.[key] ?? null];
      if (one === null || two === null) return null;
      return by === 'difference' ? one - two : two === 0 ? null : one / two;
    }),
  );
}

const NAME_WIDTH = 24;

/** A scenario's table for a terminal. */
export function renderText(result: ScenarioResult): string {
  const [head, ...rows] = tableOf(result);
  const widths = head!.map((title, i) => (i === 0 ? NAME_WIDTH : Math.max(title.length, 8) + 2));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('');
  return [titleOf(result), '', line(head!), ...rows.map(line), ...belowTable(result)].join('\n');
}

/** A scenario's table in Markdown. */
export function renderMarkdown(result: ScenarioResult): string {
  const [head, ...rows] = tableOf(result).map((row) => row.map((cell) => cell.trim()));
  return [`### ${titleOf(result)}`, '', markdownTable(head!, rows), ...belowTable(result)].join('\n');
}

function titleOf({ scenario }: ScenarioResult): string {
  return `${scenario.what}, ${scenario.size.toLocaleString('en')} ${scenario.unit} (\`${scenario.name}\`)`;
}

/** A line for each target with failed calls. */
export function failuresOf({ lines }: ScenarioResult): string[] {
  return lines
    .filter(({ failures }) => failures > 0)
    .map((line) => `${nameOf(line)}: ${line.failures} calls failed; error of the first: ${line.firstFailure}`);
}

function belowTable(result: ScenarioResult): string[] {
  const failures = failuresOf(result);
  return failures.length === 0 ? [] : ['', ...failures];
}

function tableOf(result: ScenarioResult): string[][] {
  const { columns, isTranslated = false } = result.scenario;
  const base = isTranslated ? 'relayed' : 'bare';
  const head = ['', ...columns.flatMap((column) => [column.title, ...besideTitle(column, base)])];
  const rows = summarise(result).flatMap((line) => {
    const row = [nameOf(line), ...columns.flatMap((column) => cellsOf(line.figures[column.key]!, column))];
    return line.version === 'after' ? [row, beforeRow(line, columns)] : [row];
  });
  return [head, ...rows];
}

function besideTitle({ against }: Column, base: string): string[] {
  return against === 'nothing' ? [] : [against === 'ratio' ? `of ${base}` : `above ${base}`];
}

function cellsOf({ value, toBare }: Summary, { digits, against }: Column): string[] {
  const cell = shown(value, digits);
  if (against === 'nothing') return [cell];
  return [cell, shown(toBare, against === 'ratio' ? 2 : digits)];
}

function beforeRow({ figures }: LineSummary, columns: readonly Column[]): string[] {
  const cells = columns.flatMap((column) => [
    shown(figures[column.key]!.toBefore, 2),
    ...besideTitle(column, '').map(() => ''),
  ]);
  return ['  after : before', ...cells];
}

/** The name of a line in reports. */
export function nameOf({ name, version }: Pick<LineResult, 'name' | 'version'>): string {
  return version === '' ? name : `${name}, ${version}`;
}

function shown(value: number | null, digits: number): string {
  if (value === null || !Number.isFinite(value)) return '-';
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
