import { Badge, Button, Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useRead } from '../../api/queries.ts';
import { useOperationName } from '../../parts/calls/operation-name.ts';
import { CatalogDialog } from '../../parts/catalog/catalog-dialog.tsx';
import { textOf } from '../../parts/catalog/catalog-value.ts';
import type { EntryDialogProps } from '../../parts/catalog/entry-dialog.tsx';
import { YuanField } from '../../parts/forms/number-fields.tsx';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { DimmedText } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { useTimezone } from '../../text/timezone.tsx';
import { catalogModelsTexts } from './catalog-texts.ts';
import {
  type ChosenModel,
  chosenModelEdits,
  type EnteredPrices,
  knownPrices,
  NO_PRICES,
  type Now,
  type Offer,
  offersOf,
} from './listed-models.ts';

type Chosen = ReadonlyMap<string, ChosenModel>;

/** Adds models that a provider lists, several in one revision. Mounted while it is open. */
export function FromProviderDialog({ catalog, onClose }: EntryDialogProps) {
  const text = useTexts(catalogModelsTexts);
  const operationName = useOperationName();
  const { providers } = catalog.value;
  const names = Object.keys(providers);
  const [provider, setProvider] = useState(names.length === 1 ? names[0]! : '');
  const [chosen, setChosen] = useState<Chosen>(new Map());
  const [operation, setOperation] = useState('');
  const { zones } = useTimezone();
  const [now] = useState(() => ({ ms: Date.now(), timezone: zones.billing }));
  const operations = operationsOf(textOf(providers[provider]?.protocol));
  return (
    <CatalogDialog
      isOpen
      onClose={onClose}
      title={text.fromProvider}
      catalog={catalog}
      problem={() => (chosen.size === 0 ? text.modelNeeded : null)}
      edits={() => chosenModelEdits(catalog.value, provider, [operation || operations[0]!], [...chosen.values()], now)}
    >
      <Group gap="sm" align="flex-end">
        <NativeSelect
          label={text.provider}
          required
          value={provider}
          onChange={({ currentTarget }) => {
            setProvider(currentTarget.value);
            setChosen(new Map());
            setOperation('');
          }}
          data={['', ...names]}
          style={{ flex: '1 1 160px' }}
        />
        <NativeSelect
          label={text.operationOfChosen}
          value={operation || operations[0]}
          onChange={({ currentTarget }) => setOperation(currentTarget.value)}
          data={operations.map((value) => ({ value, label: operationName(value) }))}
          style={{ flex: '1 1 160px' }}
        />
      </Group>
      {provider !== '' && (
        <Offers provider={provider} catalog={catalog} chosen={chosen} onChange={setChosen} now={now} />
      )}
    </CatalogDialog>
  );
}

function operationsOf(protocol: string): string[] {
  return protocol === 'messages' ? ['messages'] : ['chat', 'responses', 'completions', 'embeddings', 'rerank'];
}

interface OffersProps extends Pick<EntryDialogProps, 'catalog'> {
  readonly provider: string;
  readonly chosen: Chosen;
  readonly onChange: (chosen: Chosen) => void;
  readonly now: Now;
}

/** Rendering more rows takes too long. */
const ROWS_MAX = 50;

function Offers({ provider, catalog, chosen, onChange, now }: OffersProps) {
  const text = useTexts(catalogModelsTexts);
  const format = useFormat();
  const { data, error, isFetching, refetch } = useRead('GET /admin/v1/providers/{id}/models', {
    path: { id: provider },
  });
  const [search, setSearch] = useState('');
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.message !== null) {
    return (
      <Stack gap="xs" align="flex-start">
        <ErrorNotice error={new Error(data.message)} />
        <Button variant="default" size="xs" loading={isFetching} onClick={() => void refetch()}>
          {text.retry}
        </Button>
      </Stack>
    );
  }
  const offers = offersOf(catalog.value, provider, data.data);
  const found = offers.filter(({ id }) => id.toLowerCase().includes(search.trim().toLowerCase()));
  const choose = (offer: Offer, isChosen: boolean): void => {
    const next = new Map(chosen);
    if (isChosen) next.set(offer.id, { offer, prices: pricesOf(offer) });
    else next.delete(offer.id);
    onChange(next);
  };
  const pricesOf = ({ id }: Offer): EnteredPrices => {
    const known = knownPrices(catalog.value, id, now) ?? {};
    const entries = Object.keys(NO_PRICES).map((key) => [key, textOf(known[key])]);
    return Object.fromEntries(entries) as unknown as EnteredPrices;
  };
  const columns: Column<Offer>[] = [
    {
      header: text.model,
      cell: (offer) => (
        <Group gap="xs" wrap="nowrap" justify="inherit">
          <Checkbox
            label={offer.id}
            checked={chosen.has(offer.id)}
            disabled={offer.kind === 'served'}
            onChange={({ currentTarget }) => choose(offer, currentTarget.checked)}
          />
          {offer.kind !== 'new' && <Badge color="gray">{text.offerKinds[offer.kind]}</Badge>}
        </Group>
      ),
    },
    {
      header: text.context,
      isFigure: true,
      cell: ({ contextLength }) => (contextLength === null ? '–' : format.count(contextLength)),
    },
    {
      header: text.prices,
      cell: ({ id }) => (
        <ChosenPrices chosen={chosen.get(id)} onChange={(model) => onChange(new Map(chosen).set(id, model))} />
      ),
    },
  ];
  if (offers.length === 0) return <EmptyState title={text.noOffers} />;
  return (
    <Stack gap="sm">
      <TextInput
        type="search"
        label={text.search}
        value={search}
        onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        maw={320}
      />
      <Text size="sm" role="status">
        {text.chosenOf(String(chosen.size), format.count(offers.length))}
      </Text>
      {data.hasMore && <DimmedText>{text.hasMoreOffers}</DimmedText>}
      {found.length === 0 ? (
        <EmptyState title={text.noMatch} />
      ) : (
        <DataTable<Offer> label={text.offers} items={found.slice(0, ROWS_MAX)} columns={columns} />
      )}
      {found.length > ROWS_MAX && <DimmedText>{text.searchForMore(format.count(found.length - ROWS_MAX))}</DimmedText>}
      <DimmedText>{text.pricesOfOffers}</DimmedText>
    </Stack>
  );
}

interface ChosenPricesProps {
  readonly chosen: ChosenModel | undefined;
  readonly onChange: (chosen: ChosenModel) => void;
}

/** The prices of a chosen model that is new. A model of the catalog keeps its own. */
function ChosenPrices({ chosen, onChange }: ChosenPricesProps) {
  const text = useTexts(catalogModelsTexts);
  if (chosen === undefined || chosen.offer.kind !== 'new') return '–';
  const { offer, prices } = chosen;
  return (
    <Group gap="xs" wrap="wrap">
      {(['input', 'cachedInput', 'output'] as const).map((name) => (
        <YuanField
          key={name}
          label={text[name]}
          aria-label={text.priceOf(text[name], offer.id)}
          required={name === 'input'}
          value={prices[name]}
          onChange={(amount) => onChange({ offer, prices: { ...prices, [name]: amount } })}
          w={110}
        />
      ))}
    </Group>
  );
}
