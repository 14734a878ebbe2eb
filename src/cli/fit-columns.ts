import stringWidth from 'string-width';

export interface TableColumn {
  readonly title: string;
  readonly cells: readonly string[];
  readonly isRight: boolean;
}

/** Text between two columns. */
export const GAP = '  ';

/** Number of terminal columns that a cut text keeps at least. */
const CUT_MIN = 8;
const CUT = '…';

/** Ids and times are useless if they are cut. */
const WHOLE = /^([a-z]+_[0-9a-z]+|\d{4}-\d\d-\d\d.*|)$/;
/** The offset of a time that `localTime` formats. */
const OFFSET = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) [+-]\d\d:\d\d$/;

/**
 * Fits a table to a width: leaves out empty columns and offsets of times, and cuts the longest texts.
 *
 * @returns `null` if the table does not fit
 */
export function fitColumns(all: readonly TableColumn[], width: number): readonly TableColumn[] | null {
  if (excessOf(all, widthsOf(all), width) <= 0) return all;
  const columns = all
    .filter(({ cells }) => cells.some((text) => text !== ''))
    .map((column) => ({ ...column, cells: column.cells.map((text) => text.replace(OFFSET, '$1')) }));
  const widths = widthsOf(columns);
  // The first column is what the row is about, such as the name of a model.
  const least = columns.map((column, index) =>
    index === 0 ? widths[0]! : Math.min(widths[index]!, leastWidthOf(column)),
  );
  let excess = excessOf(columns, widths, width);
  while (excess > 0) {
    const widest = indexOfWidest(widths, least);
    if (widest === null) return null;
    widths[widest]!--;
    excess--;
  }
  return columns.map((column, index) => ({ ...column, cells: column.cells.map((text) => cut(text, widths[index]!)) }));
}

const widthsOf = (columns: readonly TableColumn[]): number[] =>
  columns.map(({ title, cells }) => Math.max(...[title, ...cells].map((text) => stringWidth(text))));

function excessOf(columns: readonly TableColumn[], widths: readonly number[], width: number): number {
  return widths.reduce((sum, each) => sum + each, 0) + GAP.length * (columns.length - 1) - width;
}

function leastWidthOf({ title, cells, isRight }: TableColumn): number {
  const isWhole = isRight || cells.every((text) => WHOLE.test(text));
  return isWhole ? Number.POSITIVE_INFINITY : Math.max(CUT_MIN, stringWidth(title));
}

/** Returns the widest column that can be narrower; `null` if none can. */
function indexOfWidest(widths: readonly number[], least: readonly number[]): number | null {
  const flexible = widths.map((width, index) => (width > least[index]! ? width : 0));
  const widest = Math.max(...flexible);
  return widest === 0 ? null : flexible.indexOf(widest);
}

/** Cuts a text at the end. A Chinese character takes two columns of a terminal, and is never cut in half. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  let keptWidth = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    keptWidth += stringWidth(segment);
    if (keptWidth > width - CUT.length) break;
    kept += segment;
  }
  return kept + CUT;
}
