import { Button, Card, Group, Stack, Table, Text, UnstyledButton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useEffect } from 'react';
import { useTexts } from '../text/language.tsx';
import { LIST_PAGES, usePlaceQuery } from './location.ts';
import { EmptyState, ErrorNotice, Loading } from './notices.tsx';
import { DimmedText } from './small.ts';
import { commonTexts } from './texts.ts';

export interface Column<Item> {
  readonly header: string;
  readonly cell: (item: Item) => ReactNode;
  /** Aligns the column to the right. */
  readonly isFigure?: boolean;
  /** Makes the header a button. On phones, which have no headers, the page offers a choice. */
  readonly sort?: { readonly direction: 'ascending' | 'descending' | null; readonly toggle: () => void };
}

interface TableProps<Item> {
  /** Label for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  /** Key of an item; by default its `id`. */
  readonly idOf?: (item: Item) => string;
  /** Content of the last column; `false` if the user may not change items. */
  readonly actions?: ((item: Item) => ReactNode) | false;
}

/** Requires `idOf` for items without an `id`. */
type WithIds<Item> = [Item] extends [{ readonly id: string }] ? unknown : Required<Pick<TableProps<Item>, 'idOf'>>;

interface RowsProps<Item> extends TableProps<Item> {
  readonly items: readonly Item[];
}

/** A table; on phones, a card for each item. */
export const DataTable: <Item>(props: RowsProps<Item> & WithIds<Item>) => ReactNode = Rows;

const ownId = (item: unknown): string => (item as { readonly id: string }).id;

function Rows<Item>({ label, items, columns: shown, actions, idOf = ownId }: RowsProps<Item>) {
  const text = useTexts(commonTexts);
  const columns = actions ? [...shown, { header: text.actions, cell: actions }] : shown;
  // On paper it is a table: the width of a page is that of a phone.
  const isNarrow = useMediaQuery('screen and (max-width: 48em)', undefined, { getInitialValueInEffect: false });
  if (isNarrow) {
    return (
      <Stack gap="xs" role="list" aria-label={label}>
        {items.map((item) => (
          <Card key={idOf(item)} withBorder padding="sm" role="listitem">
            {columns.map(({ header, cell }) => {
              const content = cell(item);
              if (content === null || content === undefined || content === false) return null;
              return (
                <Group key={header} justify="space-between" gap="xs" wrap="nowrap" align="flex-start" py={2}>
                  <DimmedText style={{ flexShrink: 0 }}>{header}</DimmedText>
                  <Text size="sm" component="div" ta="right" style={{ overflowWrap: 'anywhere', minWidth: 0 }}>
                    {content}
                  </Text>
                </Group>
              );
            })}
          </Card>
        ))}
      </Stack>
    );
  }
  return (
    // Scrollable content must be reachable by keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable
    <section style={{ overflowX: 'auto' }} aria-label={label} tabIndex={0}>
      <Table highlightOnHover verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ header, isFigure, sort }) => (
              <Table.Th
                key={header}
                ta={isFigure ? 'right' : 'left'}
                style={{ whiteSpace: 'nowrap' }}
                aria-sort={sort && (sort.direction ?? 'none')}
              >
                {sort === undefined ? (
                  header
                ) : (
                  <UnstyledButton fz="inherit" fw="inherit" onClick={sort.toggle}>
                    {header} {sort.direction !== null && (sort.direction === 'ascending' ? '↑' : '↓')}
                  </UnstyledButton>
                )}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((item) => (
            <Table.Tr key={idOf(item)}>
              {columns.map(({ header, cell, isFigure }) => (
                <Table.Td key={header} ta={isFigure ? 'right' : 'left'} className={isFigure ? 'figure' : undefined}>
                  {cell(item)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

export interface ReadList<Item> {
  readonly items: readonly Item[];
  readonly isLoading: boolean;
  readonly isFetching: boolean;
  readonly error: Error | null;
  readonly hasMore: boolean;
  /** The number of loaded pages. */
  readonly pages: number;
  loadMore(): void;
  retry(): void;
}

interface ListTableProps<Item> extends TableProps<Item> {
  readonly list: ReadList<Item>;
  readonly empty?: ReactNode;
  /** Whether the page address has the number of loaded pages. At most one list of a page. */
  readonly isInPlace?: boolean;
}

/** After a reload, the list loads the same number of pages. */
const PAGES_MAX = 20;

/** A paginated list with its loading, empty and error states. */
export function ListTable<Item>(props: ListTableProps<Item> & WithIds<Item>) {
  const { list, empty, isInPlace = false, ...table }: ListTableProps<Item> = props;
  const text = useTexts(commonTexts);
  const loadMore = usePages(list, isInPlace);
  if (list.isLoading) return <Loading />;
  return (
    <Stack gap="sm">
      <ErrorNotice error={list.error} onRetry={list.retry} />
      {list.items.length > 0 ? (
        <Rows {...table} items={list.items} />
      ) : (
        list.error === null && !list.hasMore && (empty ?? <EmptyState />)
      )}
      {list.hasMore && (
        <Group justify="center">
          <Button variant="default" onClick={loadMore} loading={list.isFetching}>
            {text.loadMore}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

/** Loads the pages that the address asks for. Returns a function that loads one more. */
function usePages(list: ReadList<unknown>, isInPlace: boolean): () => void {
  const [query, change] = usePlaceQuery();
  const { pages, hasMore, isFetching, error, loadMore } = list;
  const wanted = isInPlace ? Math.min(Number(query[LIST_PAGES]) || 1, PAGES_MAX) : 1;
  const isMissing = pages > 0 && pages < wanted && hasMore && !isFetching && error === null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the function differs on each render
  useEffect(() => {
    if (isMissing) loadMore();
  }, [isMissing, pages]);
  return () => {
    loadMore();
    if (isInPlace) change({ [LIST_PAGES]: String(pages + 1) });
  };
}
