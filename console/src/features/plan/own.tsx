import { Alert, Anchor, Badge, SimpleGrid, Stack } from '@mantine/core';
import { useList, useRead } from '../../api/queries.ts';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { EmptyState, ErrorNotice, ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { PlanRings } from '../../parts/plan/plan-rings.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { PlanTerms } from './plan-terms.tsx';
import { useSubscriptionColumns } from './subscription-columns.tsx';
import { planTexts } from './texts.ts';

export function PlanPage() {
  const text = useTexts(planTexts);
  const format = useFormat();
  const plan = useRead('GET /account/v1/plan', {}, { isLive: true });
  const offered = useRead('GET /account/v1/plans', {});
  const { data } = plan;
  const plans = offered.data?.data ?? [];
  const own = plans.find(({ id }) => id === data?.planId);
  const others = plans.filter(({ id }) => id !== data?.planId);
  return (
    <Page lead={text.lead}>
      <ReadState read={plan} />
      {data !== undefined && data.planId === null && (
        <EmptyState title={text.noPlan} hint={<Anchor href="#/vouchers">{text.noPlanHint}</Anchor>} />
      )}
      {data !== undefined && data.planId !== null && (
        <Section
          title={data.planName ?? data.planId}
          actions={<Badge color={data.isUsable ? 'teal' : 'red'}>{data.isUsable ? text.usable : text.notUsable}</Badge>}
        >
          <Stack>
            {!data.isUsable && (
              <Alert color="red">
                {data.message !== null && <GatewayMessage>{data.message}</GatewayMessage>}
                {data.usableAgainAt !== null && ` ${text.usableAgainAt(format.instant(data.usableAgainAt))}`}
              </Alert>
            )}
            <PlanRings plan={data} />
          </Stack>
        </Section>
      )}
      {own !== undefined && (
        <Section title={text.terms}>
          <PlanTerms plan={own} />
        </Section>
      )}
      <ErrorNotice error={offered.error} onRetry={() => void offered.refetch()} />
      <Section title={text.history}>
        <Subscriptions />
      </Section>
      {others.length > 0 && (
        <Section title={text.offered}>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            {others.map((each) => (
              <Section key={each.id} title={each.name}>
                <PlanTerms plan={each} />
              </Section>
            ))}
          </SimpleGrid>
        </Section>
      )}
    </Page>
  );
}

function Subscriptions() {
  const text = useTexts(planTexts);
  const list = useList('GET /account/v1/subscriptions', {});
  return <ListTable label={text.history} list={list} columns={useSubscriptionColumns()} />;
}
