import { Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { Instant } from '../../parts/figures.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { planTexts } from './plan-texts.ts';

/** What remains of the plan of an account: its windows, its quota, its concurrency. */
export function PlanRemainderSection({ accountId }: { readonly accountId: string }) {
  const text = useTexts(planTexts);
  const { data, error, refetch } = useRead(
    'GET /admin/v1/accounts/{id}/plan',
    { path: { id: accountId } },
    { isLive: true },
  );
  if (data === undefined) {
    return error === null ? <Loading /> : <ErrorNotice error={error} onRetry={() => void refetch()} />;
  }
  const { planName, planId, isUsable, usableAgainAt, message, fiveHour, weekly, quota, concurrency } = data;
  if (planId === null) {
    return (
      <Section title={text.remains}>
        <EmptyState title={text.none} hint={text.noneHint} />
      </Section>
    );
  }
  return (
    <Section title={`${planName ?? planId} · ${isUsable ? text.usable : text.notUsable}`}>
      <Stack gap="sm">
        {message !== null && !isUsable && <Text size="sm">{message}</Text>}
        {usableAgainAt !== null && !isUsable && (
          <Text size="sm">
            {text.again} <Instant at={usableAgainAt} isRelative />
          </Text>
        )}
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }}>
          {fiveHour !== null && (
            <Part label={text.fiveHour} used={fiveHour.used} limit={fiveHour.limit}>
              {fiveHour.roomAt !== null && (
                <>
                  {text.roomAt} <Instant at={fiveHour.roomAt} isRelative />
                </>
              )}
            </Part>
          )}
          {weekly !== null && (
            <Part label={text.weekly} used={weekly.used} limit={weekly.limit}>
              {text.resetAt} <Instant at={weekly.resetAt} isRelative />
            </Part>
          )}
          {quota !== null && (
            <Part label={text.quota} used={quota.usedTokens} limit={quota.limitTokens}>
              {text.resetAt} <Instant at={quota.resetAt} isRelative />
            </Part>
          )}
          {concurrency !== null && (
            <Part label={text.concurrency} used={concurrency.inFlight} limit={concurrency.limit} />
          )}
        </SimpleGrid>
      </Stack>
    </Section>
  );
}

interface PartProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number;
  readonly children?: ReactNode;
}

function Part({ label, used, limit, children }: PartProps) {
  const text = useTexts(planTexts);
  const format = useFormat();
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100);
  return (
    <div>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Progress value={percent} my={6} aria-label={label} {...(percent >= 100 ? { color: 'red' } : {})} />
      <Text size="sm" className="figure">
        {text.ofLimit(format.count(used), format.count(limit))}
      </Text>
      <Text size="xs" c="dimmed" component="div">
        {children}
      </Text>
    </div>
  );
}
