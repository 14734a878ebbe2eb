import { Button, Menu } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useRead } from '../../api/queries.ts';
import { CatalogPageFrame } from '../../parts/catalog/catalog-page.tsx';
import { fieldsOf, listOf, textOf } from '../../parts/catalog/catalog-value.ts';
import { RemoveDialog } from '../../parts/catalog/remove-button.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { dayIn, lastDays } from '../../parts/days.ts';
import { useNowMs } from '../../parts/figures.tsx';
import { type PlaceAction, usePlaceAction } from '../../parts/forms/use-dialog.ts';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { EmptyState, ErrorNotice } from '../../parts/notices.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { MarginShare } from '../../parts/usage/margin-share.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useSession } from '../../session/session.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { credentialsOf } from './credential-draft.ts';
import { useProviderFigures } from './provider-figures.tsx';
import { EditProviderDialog, NewProviderDialog } from './provider-form.tsx';
import { ProviderTestDialog } from './provider-test.tsx';
import { providersTexts } from './providers-texts.ts';
import { CredentialStates } from './route-state.tsx';
import { routesTexts } from './texts.ts';

const ACTIONS = ['new', 'edit', 'test', 'remove'] as const;
type Action = PlaceAction<(typeof ACTIONS)[number]>;

export function ProvidersPage() {
  const text = useTexts(providersTexts);
  const mayOperate = useMayOperate();
  const [action, setAction] = usePlaceAction(ACTIONS);
  return (
    <CatalogPageFrame
      mayOperate={mayOperate}
      lead={text.lead}
      actions={() => (
        <Button leftSection={<PlusIcon />} onClick={() => setAction({ kind: 'new', name: '' })}>
          {text.add}
        </Button>
      )}
    >
      {(catalog) => (
        <>
          <ProviderTable catalog={catalog} onAction={setAction} />
          {action !== null && mayOperate && (
            <ProviderAction {...action} catalog={catalog} onClose={() => setAction(null)} />
          )}
        </>
      )}
    </CatalogPageFrame>
  );
}

interface ProviderActionProps extends Action {
  readonly catalog: Catalog;
  readonly onClose: () => void;
}

function ProviderAction({ kind, name, catalog, onClose }: ProviderActionProps) {
  const row = rowsOf(catalog).find(({ id }) => id === name);
  if (kind === 'test' && row !== undefined) {
    return <ProviderTestDialog isOpen onClose={onClose} provider={name} models={row.models} />;
  }
  if (!catalog.canEdit) return null;
  if (kind === 'new') return <NewProviderDialog catalog={catalog} onClose={onClose} />;
  if (row === undefined) return null;
  if (kind === 'edit') return <EditProviderDialog name={name} catalog={catalog} onClose={onClose} />;
  return <RemoveDialog isOpen onClose={onClose} catalog={catalog} section="providers" name={name} />;
}

interface ProviderRow {
  readonly id: string;
  readonly protocol: string;
  readonly address: string;
  readonly credentials: number;
  readonly models: readonly string[];
}

const HOUR_MS = 3_600_000;

interface ProviderTableProps {
  readonly catalog: Catalog;
  readonly onAction: (action: Action) => void;
}

function ProviderTable({ catalog, onAction }: ProviderTableProps) {
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
    return p50 == null || p95 == null ? '–' : `${format.duration(p50, p95)} / ${format.duration(p95)}`;
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
        actions={mayOperate && (({ id }) => <ProviderMenu id={id} canEdit={catalog.canEdit} onAction={onAction} />)}
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

interface ProviderMenuProps extends Pick<ProviderTableProps, 'onAction'> {
  readonly id: string;
  readonly canEdit: boolean;
}

function ProviderMenu({ id: name, canEdit, onAction }: ProviderMenuProps) {
  const text = useTexts(providersTexts);
  const { test } = useTexts(routesTexts);
  return (
    <RowMenu label={text.actionsFor(name)}>
      <Menu.Item onClick={() => onAction({ kind: 'test', name })}>{test}</Menu.Item>
      {canEdit && (
        <>
          <Menu.Item onClick={() => onAction({ kind: 'edit', name })}>{text.edit}</Menu.Item>
          <Menu.Item color="red" onClick={() => onAction({ kind: 'remove', name })}>
            {text.remove}
          </Menu.Item>
        </>
      )}
    </RowMenu>
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
