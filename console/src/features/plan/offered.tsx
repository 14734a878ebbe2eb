import { Button, SimpleGrid } from '@mantine/core';
import { PlusIcon } from '@primer/octicons-react';
import { useRead } from '../../api/queries.ts';
import type { Plan } from '../../api/types.ts';
import { CatalogPageFrame } from '../../parts/catalog/catalog-page.tsx';
import { RemoveButton } from '../../parts/catalog/remove-button.tsx';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { useDialog, usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { DimmedText, SmallButton } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { plansTexts } from './offered-texts.ts';
import { PlanDialog } from './plan-form.tsx';
import { PlanTerms } from './plan-terms.tsx';

export function PlansPage() {
  const text = useTexts(plansTexts);
  const mayOperate = useMayOperate();
  return (
    <CatalogPageFrame
      mayOperate={mayOperate}
      lead={text.lead}
      actions={(catalog) => <NewPlanButton catalog={catalog} />}
    >
      {(catalog) => <Plans catalog={catalog} />}
    </CatalogPageFrame>
  );
}

function NewPlanButton({ catalog }: { readonly catalog: Catalog }) {
  const text = useTexts(plansTexts);
  const [open, dialog] = usePlaceDialog('new');
  return (
    <>
      <Button leftSection={<PlusIcon />} onClick={open}>
        {text.add}
      </Button>
      {dialog.isOpen && <PlanDialog id={null} catalog={catalog} onClose={dialog.onClose} />}
    </>
  );
}

function Plans({ catalog }: { readonly catalog: Catalog }) {
  const text = useTexts(plansTexts);
  const read = useRead('GET /admin/v1/plans', {}, { isLive: true });
  if (read.data === undefined) return <ReadState read={read} />;
  const plans = new Map(read.data.data.map((plan) => [plan.id, plan]));
  const ids = [...new Set([...plans.keys(), ...Object.keys(catalog.value.plans)])];
  if (ids.length === 0) return <EmptyState title={text.none} hint={catalog.canEdit ? text.noneHint : undefined} />;
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      {ids.map((id) => (
        <PlanCard key={id} id={id} plan={plans.get(id)} catalog={catalog} />
      ))}
    </SimpleGrid>
  );
}

interface PlanCardProps {
  readonly id: string;
  /** `undefined` if the plan is not in force yet. */
  readonly plan: Plan | undefined;
  readonly catalog: Catalog;
}

function PlanCard({ id, plan, catalog }: PlanCardProps) {
  const text = useTexts(plansTexts);
  const format = useFormat();
  const [open, dialog] = useDialog();
  const active = format.count(plan?.activeSubscriptions ?? 0);
  const actions = catalog.canEdit && Object.hasOwn(catalog.value.plans, id) && (
    <>
      <SmallButton onClick={open} aria-label={text.editTitle(id)}>
        {text.edit}
      </SmallButton>
      {dialog.isOpen && <PlanDialog id={id} catalog={catalog} onClose={dialog.onClose} />}
      <RemoveButton catalog={catalog} section="plans" name={id} />
    </>
  );
  return (
    <Section title={plan?.name ?? id} lead={id} actions={actions}>
      {plan === undefined ? (
        <DimmedText>{text.notInForce}</DimmedText>
      ) : (
        <PlanTerms plan={plan} before={[[text.active, plan.hasMoreSubscriptions ? text.moreThan(active) : active]]} />
      )}
    </Section>
  );
}
