import { Button, Menu } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { percentOf } from '../../parts/basis-points.ts';
import { CatalogPageFrame } from '../../parts/catalog/catalog-page.tsx';
import { type Fields, fieldsOf, textOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import { RemoveDialog } from '../../parts/catalog/remove-button.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { type PlaceAction, usePlaceAction } from '../../parts/forms/use-dialog.ts';
import { DataTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { MarginShare } from '../../parts/usage/margin-share.tsx';
import { MARGIN_DAYS, useMargins } from '../../parts/usage/use-margins.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { GroupDialog } from './group-form.tsx';
import { groupsTexts } from './texts.ts';

const ACTIONS = ['new', 'edit', 'remove'] as const;
type Action = PlaceAction<(typeof ACTIONS)[number]>;

export function GroupsPage() {
  const text = useTexts(groupsTexts);
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
          <GroupTable catalog={catalog} onAction={setAction} />
          {action !== null && catalog.canEdit && (
            <GroupAction {...action} catalog={catalog} onClose={() => setAction(null)} />
          )}
        </>
      )}
    </CatalogPageFrame>
  );
}

interface GroupActionProps extends Action {
  readonly catalog: Catalog;
  readonly onClose: () => void;
}

function GroupAction({ kind, name, catalog, onClose }: GroupActionProps) {
  if (kind === 'new') return <GroupDialog id={null} catalog={catalog} onClose={onClose} />;
  if (!Object.hasOwn(catalog.value.groups, name)) return null;
  if (kind === 'edit') return <GroupDialog id={name} catalog={catalog} onClose={onClose} />;
  return <RemoveDialog isOpen onClose={onClose} catalog={catalog} section="groups" name={name} />;
}

interface GroupTableProps {
  readonly catalog: Catalog;
  readonly onAction: (action: Action) => void;
}

function GroupTable({ catalog, onAction }: GroupTableProps) {
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
      actions={catalog.canEdit && (({ id }) => <GroupMenu id={id} onAction={onAction} />)}
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

function GroupMenu({ id: name, onAction }: { readonly id: string } & Pick<GroupTableProps, 'onAction'>) {
  const text = useTexts(groupsTexts);
  return (
    <RowMenu label={text.actionsFor(name)}>
      <Menu.Item onClick={() => onAction({ kind: 'edit', name })}>{text.edit}</Menu.Item>
      <Menu.Item color="red" onClick={() => onAction({ kind: 'remove', name })}>
        {text.remove}
      </Menu.Item>
    </RowMenu>
  );
}
