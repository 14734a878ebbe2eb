import { CsvAmount, type CsvCell, csvLine } from '../../lib/csv.ts';
import { LineStream } from './endpoint.ts';
import type { Page } from './response-fields.ts';

/** The `lines` of endpoints that serve their list as CSV too. */
export const LIST_LINES = {
  mediaType: 'text/csv',
  description: 'The whole list from the cursor on, if the request accepts text/csv.',
} as const;

/** The content type of CSV with a header line. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

interface ListQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** Items per page. */
const CSV_PAGE = 500;

/**
 * A page of a list, or the whole list from the cursor on as CSV. CSV is read page by page; the first page is read before anything is
 * sent. `members`: the columns. A nested member such as `usage.images` has the title `images`.
 */
export async function listOrCsv<Query extends ListQuery, Found extends Page<object>>(
  wantsCsv: boolean,
  members: readonly string[],
  query: Query,
  readPage: (query: Query) => Promise<Found>,
): Promise<Found | LineStream> {
  if (!wantsCsv) return readPage(query);
  const { titles, lineOf } = csvOf(members);
  const linesOf = ({ data }: Found): string => data.map(lineOf).join('');
  const first = await readPage({ ...query, limit: CSV_PAGE });
  async function* lines(): AsyncGenerator<string> {
    yield titles + linesOf(first);
    for (let cursor = first.nextCursor; cursor !== null; ) {
      const page = await readPage({ ...query, cursor, limit: CSV_PAGE });
      yield linesOf(page);
      cursor = page.nextCursor;
    }
  }
  return new LineStream(lines(), CSV_TYPE);
}

/** The header line of a table, and a function for the line of an item. */
export function csvOf(members: readonly string[]) {
  const paths = members.map((member) => member.split('.'));
  return {
    titles: csvLine(paths.map((path) => path.at(-1)!)),
    lineOf: (item: object): string => csvLine(paths.map((path) => cellOf(path, item))),
  };
}

function cellOf(path: readonly string[], item: object): CsvCell {
  let value: unknown = item;
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name];
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return JSON.stringify(value);
  return path.at(-1)!.endsWith('Yuan') ? new CsvAmount(value) : value;
}
