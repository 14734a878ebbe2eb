import { CsvAmount, type CsvCell, csvLine } from '../../lib/csv.ts';
import { LineStream } from './endpoint.ts';
import type { Page } from './response-fields.ts';

/** How an address says that its list is CSV too. */
export const LIST_LINES = {
  mediaType: 'text/csv',
  description: 'The whole list from the cursor on, if the request accepts text/csv.',
} as const;

/** The type of CSV, which has titles. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** Items that are read at a time. */
const CSV_PAGE = 500;

/**
 * A list as CSV, a page at a time, whose first one is read before anything is sent. `members` are those of the items that are its columns;
 * `usage.images` is that of a member, and its title `images`.
 */
export async function listCsv(
  members: readonly string[],
  cursor: string | undefined,
  readPage: (cursor: string | undefined, limit: number) => Promise<Page<object>>,
): Promise<LineStream> {
  const first = await readPage(cursor, CSV_PAGE);
  async function* lines(): AsyncGenerator<string> {
    yield csvLine(members.map((member) => member.slice(member.indexOf('.') + 1))) + linesOf(first);
    for (let next = first.nextCursor; next !== null; ) {
      const page = await readPage(next, CSV_PAGE);
      yield linesOf(page);
      next = page.nextCursor;
    }
  }
  const linesOf = ({ data }: Page<object>): string =>
    data.map((item) => csvLine(members.map((member) => cellOf(member, item)))).join('');
  return new LineStream(lines(), CSV_TYPE);
}

function cellOf(member: string, item: object): CsvCell {
  let value: unknown = item;
  for (const name of member.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return JSON.stringify(value);
  return member.endsWith('Yuan') ? new CsvAmount(value) : value;
}
