import { Stack, Text } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import { Instant } from '../../parts/figures.tsx';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { PlanRings } from '../../parts/plan/plan-rings.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { operatorPlanTexts } from './operator-texts.ts';
import { planTexts } from './texts.ts';

export function PlanRemainderSection({ accountId }: { readonly accountId: string }) {
  const text = useTexts(operatorPlanTexts);
  const words = useTexts(planTexts);
  const read = useRead('GET /admin/v1/accounts/{id}/plan', { path: { id: accountId } }, { isLive: true });
  if (read.data === undefined) return <ReadState read={read} />;
  const { planName, planId, isUsable, usableAgainAt, message } = read.data;
  if (planId === null) {
    return (
      <Section title={text.remains}>
        <EmptyState title={text.none} hint={text.noneHint} />
      </Section>
    );
  }
  return (
    <Section title={`${planName ?? planId} · ${isUsable ? words.usable : words.notUsable}`}>
      <Stack gap="sm">
        {message !== null && !isUsable && (
          <Text size="sm">
            <GatewayMessage>{message}</GatewayMessage>
          </Text>
        )}
        {usableAgainAt !== null && !isUsable && (
          <Text size="sm">
            {text.again} <Instant at={usableAgainAt} isRelative />
          </Text>
        )}
        <PlanRings plan={read.data} />
      </Stack>
    </Section>
  );
}
