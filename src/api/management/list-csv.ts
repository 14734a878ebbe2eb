import { CsvAmount, type CsvCell, csvLine } from '../../lib/csv.ts';
import { LineStream } from './endpoint.ts';
import type { Page } from './response-fields.ts';

export const LIST_LINES = {
  mediaType: 'text/csv',
  description: 'The whole list from the cursor on, if the request accepts text/csv.',
} as const;

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

interface ListQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

const CSV_PAGE = 500;

/**
 * Returns a page of a list as JSON, or the whole list after the cursor as CSV. The first page is read before anything is sent. `members`:
 * the columns; a nested member such as `usage.images` has the title `images`.
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
