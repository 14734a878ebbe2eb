import { Anchor, Badge, Group, SimpleGrid, Stack } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { Plan } from '../../api/types.ts';
import { Facts } from '../../parts/facts.tsx';
import { hashOf } from '../../parts/location.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { plansTexts } from './offered-texts.ts';

export function PlansPage() {
  const text = useTexts(plansTexts);
  const { data, error, refetch } = useRead('GET /admin/v1/plans', {});
  return (
    <Page title={text.title} lead={text.lead}>
      <Stack>
        <ErrorNotice error={error} onRetry={() => void refetch()} />
        {data === undefined && error === null && <Loading />}
        {data?.data.length === 0 && (
          <EmptyState
            title={text.none}
            hint={text.noneHint}
            action={<Anchor href={hashOf('/operator/config')}>{text.toConfig}</Anchor>}
          />
        )}
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          {data?.data.map((plan) => (
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
      <Facts
        facts={[
          [text.active, plan.hasMoreSubscriptions ? text.moreThan(active) : active],
          [text.fiveHour, format.count(plan.fiveHourCalls)],
          [text.weekly, format.count(plan.weeklyCalls)],
          [text.concurrency, format.count(plan.concurrency)],
          [text.quota, format.count(plan.quotaTokens)],
          [text.period, text.days(plan.periodDays)],
          [text.input, format.bytes(plan.inputByteLimit)],
          [text.output, format.count(plan.outputTokenLimit)],
          [
            text.models,
            <Group key="models" gap={4}>
              {plan.models.map((model) => (
                <Badge key={model} variant="default" tt="none">
                  {model}
                </Badge>
              ))}
            </Group>,
          ],
        ]}
      />
    </Section>
  );
}
