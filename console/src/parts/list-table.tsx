import { Button, Card, Group, Stack, Table, Text, UnstyledButton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useTexts } from '../text/language.tsx';
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
            {columns.map(({ header, cell }) => (
              <Group key={header} justify="space-between" gap="xs" wrap="nowrap" align="flex-start" py={2}>
                <DimmedText style={{ flexShrink: 0 }}>{header}</DimmedText>
                <Text size="sm" component="div" ta="right" style={{ overflowWrap: 'anywhere' }}>
                  {cell(item)}
                </Text>
              </Group>
            ))}
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
  loadMore(): void;
  retry(): void;
}

interface ListTableProps<Item> extends TableProps<Item> {
  readonly list: ReadList<Item>;
  readonly empty?: ReactNode;
}

/** A paginated list with its loading, empty and error states. */
export function ListTable<Item>(props: ListTableProps<Item> & WithIds<Item>) {
  const { list, empty, ...table }: ListTableProps<Item> = props;
  const text = useTexts(commonTexts);
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
          <Button variant="default" onClick={list.loadMore} loading={list.isFetching}>
            {text.loadMore}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
