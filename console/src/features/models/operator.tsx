import { Badge, Button, Group, Menu, NativeSelect, Stack, TextInput } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useState } from 'react';
import { CatalogPageFrame } from '../../parts/catalog/catalog-page.tsx';
import { textOf } from '../../parts/catalog/catalog-value.ts';
import type { PriceList } from '../../parts/catalog/price-lists.ts';
import { RemoveDialog } from '../../parts/catalog/remove-button.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { useNowMs, Yuan } from '../../parts/figures.tsx';
import { usePlaceSearch } from '../../parts/filters.tsx';
import { isYuan } from '../../parts/forms/number-text.ts';
import { type PlaceAction, usePlaceAction } from '../../parts/forms/use-dialog.ts';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { DimmedText } from '../../parts/small.ts';
import { MarginShare } from '../../parts/usage/margin-share.tsx';
import { MARGIN_DAYS, useMargins } from '../../parts/usage/use-margins.ts';
import { useIsPhone } from '../../parts/use-is-phone.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { catalogModelsTexts } from './catalog-texts.ts';
import { FromProviderDialog } from './from-provider.tsx';
import { LaterPricesDialog } from './later-prices.tsx';
import { EditModelDialog, NewModelDialog } from './model-form.tsx';
import { compareRows, type ModelRow, rowsOf, SORT_NAMES, type SortName } from './model-rows.ts';

const ACTIONS = ['edit', 'new', 'offers', 'later', 'remove'] as const;
type Action = PlaceAction<(typeof ACTIONS)[number]>;

export function CatalogModelsPage() {
  const text = useTexts(catalogModelsTexts);
  const mayOperate = useMayOperate();
  const [action, setAction] = usePlaceAction(ACTIONS);
  return (
    <CatalogPageFrame
      mayOperate={mayOperate}
      lead={text.lead}
      actions={() => (
        <>
          <Button variant="default" onClick={() => setAction({ kind: 'offers', name: '' })}>
            {text.fromProvider}
          </Button>
          <Button leftSection={<PlusIcon />} onClick={() => setAction({ kind: 'new', name: '' })}>
            {text.add}
          </Button>
        </>
      )}
    >
      {(catalog) => (
        <>
          <ModelTable catalog={catalog} onAction={setAction} />
          {action !== null && catalog.canEdit && (
            <ModelAction {...action} catalog={catalog} onClose={() => setAction(null)} />
          )}
        </>
      )}
    </CatalogPageFrame>
  );
}

interface ModelActionProps extends Action {
  readonly catalog: Catalog;
  readonly onClose: () => void;
}

function ModelAction({ kind, ...dialog }: ModelActionProps) {
  const { name, catalog } = dialog;
  if (kind === 'offers') return <FromProviderDialog {...dialog} />;
  const isKnown = Object.hasOwn(catalog.value.models, name);
  if (kind === 'new' && (isKnown || name === '')) return <NewModelDialog {...dialog} />;
  if (!isKnown) return null;
  if (kind === 'edit') return <EditModelDialog {...dialog} />;
  if (kind === 'later') return <LaterPricesDialog {...dialog} />;
  return <RemoveDialog isOpen section="models" {...dialog} />;
}

/** Rendering more rows takes too long. */
const ROWS_MAX = 100;

interface ModelTableProps {
  readonly catalog: Catalog;
  readonly onAction: (action: Action) => void;
}

function ModelTable({ catalog, onAction }: ModelTableProps) {
  const text = useTexts(catalogModelsTexts);
  const isPhone = useIsPhone();
  const { zones } = useTimezone();
  const nowMs = useNowMs();
  const [query, change] = usePlaceQuery();
  const [search, setSearch] = usePlaceSearch();
  const sort = { by: SORT_NAMES.find((name) => name === query.sort) ?? 'name', isDown: query.down !== undefined };
  const setSort = ({ by, isDown }: typeof sort) =>
    change({ sort: by === 'name' ? null : by, down: isDown ? 'true' : null });
  const [rowsMax, setRowsMax] = useState(ROWS_MAX);
  const all = rowsOf(catalog, nowMs, zones.billing, useMargins('model', zones.billing));
  if (all.length === 0) return <EmptyState title={text.none} hint={catalog.canEdit ? text.noneHint : undefined} />;
  const wanted = search.trim().toLowerCase();
  const found = all
    .filter(({ id, displayName, aliases, routes }) =>
      [id, displayName, ...aliases, ...routes].some((each) => each.toLowerCase().includes(wanted)),
    )
    .sort((a, b) => compareRows(sort.by, a, b) * (sort.isDown ? -1 : 1));
  const sortable = (by: SortName): Pick<Column<ModelRow>, 'sort'> => ({
    sort: {
      direction: sort.by !== by ? null : sort.isDown ? 'descending' : 'ascending',
      toggle: () => setSort({ by, isDown: sort.by === by && !sort.isDown }),
    },
  });
  const columns: Column<ModelRow>[] = [
    { header: text.name, ...sortable('name'), cell: (row) => <Names row={row} /> },
    { header: text.context, ...sortable('context'), isFigure: true, cell: ({ context }) => <Tokens count={context} /> },
    { header: text.input, ...sortable('input'), isFigure: true, cell: ({ input }) => <Amount amount={input} /> },
    {
      header: text.output,
      ...sortable('output'),
      isFigure: true,
      cell: ({ output, isByTimeOfDay }) => (
        <>
          <Amount amount={output} />
          {isByTimeOfDay && <DimmedText>{text.byTimeOfDay}</DimmedText>}
        </>
      ),
    },
    {
      header: text.margin(MARGIN_DAYS),
      ...sortable('margin'),
      isFigure: true,
      cell: ({ sums }) => <MarginShare sums={sums} />,
    },
    { header: text.routes, ...sortable('routes'), cell: ({ routes }) => <Lines lines={routes} /> },
    { header: text.later, ...sortable('later'), cell: ({ later }) => <LaterPrices lists={later} /> },
  ];
  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="sm">
        <TextInput
          type="search"
          label={text.search}
          placeholder={text.searchHint}
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
          style={{ flex: '1 1 200px', maxWidth: 320 }}
        />
        {isPhone && (
          <NativeSelect
            label={text.sortBy}
            value={sort.by}
            onChange={({ currentTarget }) => setSort({ by: currentTarget.value as SortName, isDown: false })}
            data={SORT_NAMES.map((value) => ({
              value,
              label: value === 'margin' ? text.margin(MARGIN_DAYS) : text[value],
            }))}
          />
        )}
      </Group>
      {found.length === 0 && <EmptyState title={text.noMatch} />}
      {found.length > 0 && (
        <DataTable<ModelRow>
          label={text.models}
          items={found.slice(0, rowsMax)}
          columns={columns}
          actions={catalog.canEdit && (({ id }) => <ModelMenu id={id} onAction={onAction} />)}
        />
      )}
      {found.length > rowsMax && (
        <Group justify="center">
          <Button variant="default" onClick={() => setRowsMax(rowsMax + ROWS_MAX)}>
            {text.loadMore}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function ModelMenu({ id: name, onAction }: Pick<ModelRow, 'id'> & Pick<ModelTableProps, 'onAction'>) {
  const text = useTexts(catalogModelsTexts);
  return (
    <RowMenu label={text.actionsFor(name)}>
      <Menu.Item onClick={() => onAction({ kind: 'edit', name })}>{text.edit}</Menu.Item>
      <Menu.Item onClick={() => onAction({ kind: 'later', name })}>{text.laterPrices}</Menu.Item>
      <Menu.Item onClick={() => onAction({ kind: 'new', name })}>{text.copy}</Menu.Item>
      <Menu.Item color="red" onClick={() => onAction({ kind: 'remove', name })}>
        {text.remove}
      </Menu.Item>
    </RowMenu>
  );
}

function Names({ row: { id, displayName, aliases, isListed } }: { readonly row: ModelRow }) {
  const text = useTexts(catalogModelsTexts);
  return (
    <>
      <Group gap="xs" justify="inherit">
        {id}
        {!isListed && <Badge color="gray">{text.notListed}</Badge>}
      </Group>
      <DimmedText>{[displayName, ...aliases].filter(Boolean).join(' · ')}</DimmedText>
    </>
  );
}

/** An amount, or whatever is written in its place, such as a variable. */
function Amount({ amount }: { readonly amount: string }) {
  if (amount === '') return '–';
  return isYuan(amount) ? <Yuan amount={amount} /> : amount;
}

/** A number of tokens, or whatever is written in its place. */
function Tokens({ count }: { readonly count: string }) {
  const format = useFormat();
  if (count === '') return '–';
  return /^\d+$/.test(count) ? format.exactCount(Number(count)) : count;
}

function LaterPrices({ lists }: { readonly lists: readonly PriceList[] }) {
  const text = useTexts(catalogModelsTexts);
  if (lists.length === 0) return '–';
  return lists.map(({ from, fields }) => (
    <div key={from}>
      {text.from(from ?? '')}
      {text.colon}
      <Amount amount={textOf(fields.input)} /> / <Amount amount={textOf(fields.output)} />
    </div>
  ));
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a route can occur twice
    <div key={at}>{line}</div>
  ));
}
