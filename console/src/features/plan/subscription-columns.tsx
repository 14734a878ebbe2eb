import { Badge } from '@mantine/core';
import type { Subscription } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { useTexts } from '../../text/language.tsx';
import { planTexts } from './texts.ts';

const COLORS = { active: 'teal', scheduled: 'blue', expired: 'gray', canceled: 'gray' } as const;

type Shown = Pick<Subscription, 'planName' | 'planId' | 'status' | 'startsAt' | 'endsAt' | 'canceledAt'>;

export function useSubscriptionColumns<Item extends Shown>(): Column<Item>[] {
  const text = useTexts(planTexts);
  return [
    { header: text.plan, cell: ({ planName, planId }) => planName ?? planId },
    {
      header: text.status,
      cell: ({ status }) => <Badge color={COLORS[status]}>{text.statuses[status]}</Badge>,
    },
    { header: text.startsAt, cell: ({ startsAt }) => <Instant at={startsAt} /> },
    { header: text.endsAt, cell: ({ endsAt, canceledAt }) => <Instant at={canceledAt ?? endsAt} /> },
  ];
}
