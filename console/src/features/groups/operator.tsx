import { Button, Group } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { percentOf } from '../../parts/basis-points.ts';
import { CatalogPageFrame } from '../../parts/catalog/catalog-page.tsx';
import { type Fields, fieldsOf, textOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import { RemoveButton } from '../../parts/catalog/remove-button.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { SmallButton } from '../../parts/small.ts';
import { MarginShare } from '../../parts/usage/margin-share.tsx';
import { MARGIN_DAYS, useMargins } from '../../parts/usage/use-margins.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { GroupDialog } from './group-form.tsx';
import { groupsTexts } from './texts.ts';

export function GroupsPage() {
  const text = useTexts(groupsTexts);
  const mayOperate = useMayOperate();
  return (
    <CatalogPageFrame
      mayOperate={mayOperate}
      lead={text.lead}
      actions={(catalog) => <NewGroupButton catalog={catalog} />}
    >
      {(catalog) => <GroupTable catalog={catalog} />}
    </CatalogPageFrame>
  );
}

function NewGroupButton({ catalog }: { readonly catalog: Catalog }) {
  const text = useTexts(groupsTexts);
  const [open, dialog] = useDialog();
  return (
    <>
      <Button leftSection={<PlusIcon />} onClick={open}>
        {text.add}
      </Button>
      {dialog.isOpen && <GroupDialog id={null} catalog={catalog} onClose={dialog.onClose} />}
    </>
  );
}

function GroupTable({ catalog }: { readonly catalog: Catalog }) {
  const text = useTexts(groupsTexts);
  const margins = useMargins('group', useSession().billingTimezone);
  const rows = Object.entries(catalog.value.groups).map(([id, fields]) => rowOf(id, fields));
  if (rows.length === 0) return <EmptyState title={text.none} hint={catalog.canEdit ? text.noneHint : undefined} />;
  return (
    <DataTable
      label={text.groups}
      items={rows}
      columns={[
        { header: text.id, cell: ({ id }) => id },
        { header: text.displayName, cell: ({ name }) => name },
        {
          header: text.margin(MARGIN_DAYS),
          isFigure: true,
          cell: ({ id }) => <MarginShare sums={margins.get(id)} />,
        },
        { header: text.models, cell: ({ models }) => models.join(text.comma) || text.allModels },
        { header: text.providers, cell: ({ providers }) => providers.join(text.comma) || text.allProviders },
        { header: text.factor, isFigure: true, cell: ({ factor }) => factor },
        { header: text.prices, cell: ({ priced }) => priced.join(text.comma) || '–' },
      ]}
      actions={catalog.canEdit && (({ id }) => <GroupActions id={id} catalog={catalog} />)}
    />
  );
}

function rowOf(id: string, { name, models, providers, prices, priceFactorBasisPoints }: Fields) {
  const factor = textOf(priceFactorBasisPoints);
  return {
    id,
    name: textOf(name),
    models: textsOf(models),
    providers: textsOf(providers),
    factor: factor === '' ? '100%' : /^\d+$/.test(factor) ? `${percentOf(Number(factor))}%` : factor,
    priced: Object.keys(fieldsOf(prices)),
  };
}

function GroupActions({ id, catalog }: { readonly id: string; readonly catalog: Catalog }) {
  const text = useTexts(groupsTexts);
  const [open, dialog] = useDialog();
  return (
    <Group gap={4}>
      <SmallButton onClick={open} aria-label={text.editTitle(id)}>
        {text.edit}
      </SmallButton>
      {dialog.isOpen && <GroupDialog id={id} catalog={catalog} onClose={dialog.onClose} />}
      <RemoveButton catalog={catalog} section="groups" name={id} />
    </Group>
  );
}
