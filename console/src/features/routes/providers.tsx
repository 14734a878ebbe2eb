import { Button, Group } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useRead } from '../../api/queries.ts';
import { CatalogPageFrame } from '../../parts/catalog/catalog-page.tsx';
import { fieldsOf, listOf, textOf } from '../../parts/catalog/catalog-value.ts';
import { RemoveButton } from '../../parts/catalog/remove-button.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { dayIn, lastDays } from '../../parts/days.ts';
import { useNowMs } from '../../parts/figures.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { EmptyState, ErrorNotice } from '../../parts/notices.tsx';
import { SmallButton } from '../../parts/small.ts';
import { MarginShare } from '../../parts/usage/margin-share.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useSession } from '../../session/session.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { credentialsOf } from './credential-draft.ts';
import { useProviderFigures } from './provider-figures.tsx';
import { EditProviderDialog, NewProviderDialog } from './provider-form.tsx';
import { ProviderTestButton } from './provider-test.tsx';
import { providersTexts } from './providers-texts.ts';
import { CredentialStates } from './route-state.tsx';

export function ProvidersPage() {
  const text = useTexts(providersTexts);
  const mayOperate = useMayOperate();
  return (
    <CatalogPageFrame
      mayOperate={mayOperate}
      lead={text.lead}
      actions={(catalog) => <NewProviderButton catalog={catalog} />}
    >
      {(catalog) => <ProviderTable catalog={catalog} />}
    </CatalogPageFrame>
  );
}

function NewProviderButton({ catalog }: { readonly catalog: Catalog }) {
  const text = useTexts(providersTexts);
  const [open, dialog] = useDialog();
  return (
    <>
      <Button leftSection={<PlusIcon />} onClick={open}>
        {text.add}
      </Button>
      {dialog.isOpen && <NewProviderDialog catalog={catalog} onClose={dialog.onClose} />}
    </>
  );
}

interface ProviderRow {
  readonly id: string;
  readonly protocol: string;
  readonly address: string;
  readonly credentials: number;
  readonly models: readonly string[];
}

const HOUR_MS = 3_600_000;

function ProviderTable({ catalog }: { readonly catalog: Catalog }) {
  const text = useTexts(providersTexts);
  const format = useFormat();
  const mayOperate = useMayOperate();
  const { billingTimezone } = useSession();
  const figures = useProviderFigures(lastDays(1, dayIn(billingTimezone, Date.now())));
  // Rounded to the hour, so that the query changes only once an hour.
  const from = new Date(Math.floor(useNowMs() / HOUR_MS) * HOUR_MS - 24 * HOUR_MS).toISOString();
  const latency = useRead('GET /admin/v1/latency', { query: { from, groupBy: 'provider' } }, { isLive: true });
  const rows = rowsOf(catalog);
  if (rows.length === 0) return <EmptyState title={text.none} hint={catalog.canEdit ? text.noneHint : undefined} />;
  const failedOf = (id: string): string => {
    const found = figures.byProvider?.get(id);
    const calls = found?.sums.calls ?? 0;
    return found === undefined || calls === 0
      ? '–'
      : `${format.percent(found.failed / calls)} (${format.count(calls)})`;
  };
  const latencyOf = (id: string): string => {
    const { p50, p95 } = latency.data?.data.find(({ provider }) => provider === id)?.durationMs ?? {};
    return p50 == null || p95 == null ? '–' : `${format.duration(p50)} / ${format.duration(p95)}`;
  };
  const columns: Column<ProviderRow>[] = [
    { header: text.name, cell: ({ id }) => id },
    { header: text.protocol, cell: ({ protocol }) => protocol },
    { header: text.address, cell: ({ address }) => <span style={{ overflowWrap: 'anywhere' }}>{address}</span> },
    {
      header: text.credentials,
      cell: ({ id, credentials }) => (
        <>
          {format.count(credentials)}
          <CredentialStates provider={id} />
        </>
      ),
    },
    { header: text.models, cell: ({ models }) => <ModelNames models={models} /> },
    { header: text.failedToday, isFigure: true, cell: ({ id }) => failedOf(id) },
    {
      header: text.marginToday,
      isFigure: true,
      cell: ({ id }) => <MarginShare sums={figures.byProvider?.get(id)?.sums} />,
    },
    { header: text.latency, isFigure: true, cell: ({ id }) => latencyOf(id) },
  ];
  return (
    <>
      <ErrorNotice error={figures.error ?? latency.error} onRetry={figures.retry} />
      <DataTable<ProviderRow>
        label={text.providers}
        items={rows}
        columns={columns}
        actions={mayOperate && (({ id, models }) => <ProviderActions id={id} models={models} catalog={catalog} />)}
      />
    </>
  );
}

const NAMES_MAX = 3;

function ModelNames({ models }: Pick<ProviderRow, 'models'>) {
  const text = useTexts(providersTexts);
  if (models.length === 0) return '–';
  if (models.length <= NAMES_MAX) return models.join(text.comma);
  return <span title={models.join(text.comma)}>{text.modelCount(models.length)}</span>;
}

interface ProviderActionsProps extends Pick<ProviderRow, 'id' | 'models'> {
  readonly catalog: Catalog;
}

function ProviderActions({ id, models, catalog }: ProviderActionsProps) {
  const text = useTexts(providersTexts);
  const [open, dialog] = useDialog();
  return (
    <Group gap={4}>
      <ProviderTestButton provider={id} models={models} />
      {catalog.canEdit && (
        <>
          <SmallButton onClick={open} aria-label={text.editProvider(id)}>
            {text.edit}
          </SmallButton>
          {dialog.isOpen && <EditProviderDialog name={id} catalog={catalog} onClose={dialog.onClose} />}
          <RemoveButton catalog={catalog} section="providers" name={id} />
        </>
      )}
    </Group>
  );
}

function rowsOf({ value: { providers, models } }: Catalog): ProviderRow[] {
  const modelsOf = (id: string): string[] =>
    Object.entries(models).flatMap(([name, { routes }]) =>
      listOf(routes).some((route) => fieldsOf(route).provider === id) ? [name] : [],
    );
  return Object.entries(providers).map(([id, fields]) => ({
    id,
    protocol: textOf(fields.protocol),
    address: textOf(fields.baseUrl),
    credentials: credentialsOf(fields).length,
    models: modelsOf(id),
  }));
}
