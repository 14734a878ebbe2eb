import { Anchor, SimpleGrid, Stack } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Plan } from '../../api/types.ts';
import { hashOf } from '../../parts/location.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { plansTexts } from './offered-texts.ts';
import { PlanTerms } from './plan-terms.tsx';

export function PlansPage() {
  const text = useTexts(plansTexts);
  const read = useRead('GET /admin/v1/plans', {});
  const plans = read.data?.data;
  return (
    <Page lead={text.lead}>
      <Stack>
        <ReadState read={read} />
        {plans?.length === 0 && (
          <EmptyState
            title={text.none}
            hint={text.noneHint}
            action={<Anchor href={hashOf('/operator/config')}>{text.toConfig}</Anchor>}
          />
        )}
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          {plans?.map((plan) => (
            <PlanCard key={plan.id} plan={plan} />
          ))}
        </SimpleGrid>
      </Stack>
    </Page>
  );
}

function PlanCard({ plan }: { readonly plan: Plan }) {
  const text = useTexts(plansTexts);
  const format = useFormat();
  const active = format.count(plan.activeSubscriptions);
  return (
    <Section title={plan.name} lead={plan.id}>
      <PlanTerms plan={plan} before={[[text.active, plan.hasMoreSubscriptions ? text.moreThan(active) : active]]} />
    </Section>
  );
}
