import type { QueryOf } from '../../api/client.ts';
import { useList } from '../../api/queries.ts';
import type { UsageGroup } from '../../api/types.ts';
import { Yuan } from '../../parts/figures.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { MarginShare, MarginYuan } from '../../parts/usage/margin-share.tsx';
import { tokensOf } from '../../parts/usage/usage-parts.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { compareYuan } from '../../text/yuan.ts';
import { unknownMargin } from './margins.ts';
import { operatorUsageTexts } from './operator-texts.ts';
import { usePartOf } from './part-of.ts';
import { dimensionsOf, type Grouping, usageTexts } from './texts.ts';

interface UsageTableProps {
  readonly asked: QueryOf<'GET /admin/v1/usage'>;
  readonly by: Grouping;
}

const GROUPS_MAX = 500;

/** Behind the columns that everyone needs; only those of which the grouping has figures. */
const AMOUNTS = [
  { label: 'planRevenue', amount: 'planRevenueYuan' },
  { label: 'balanceMargin', amount: 'balanceMarginYuan' },
  { label: 'ofPlans', amount: 'planMarginYuan' },
] as const;

/** Groups sorted by net charge if all of them are loaded; days sorted newest first. */
export function UsageTable({ asked, by }: UsageTableProps) {
  const text = useTexts(operatorUsageTexts);
  const format = useFormat();
  const words = useTexts(usageTexts);
  const partOf = usePartOf(by);
  const list = useList('GET /admin/v1/usage', { query: { ...asked, groupBy: dimensionsOf(by), limit: GROUPS_MAX } });
  const isOrdered = by !== 'day' && !list.hasMore;
  const items = isOrdered
    ? list.items.toSorted((a, b) => compareYuan(b.netChargeYuan, a.netChargeYuan))
    : by === 'day'
      ? list.items.toReversed()
      : list.items;
  const order = isOrdered ? text.ordered : text.unordered;
  return (
    <Section
      title={text.table}
      lead={by === 'day' ? undefined : [order, ...(by === 'tag' ? [words.countsForEachTag] : [])].join(' ')}
    >
      <ListTable<UsageGroup>
        label={text.table}
        list={{ ...list, items }}
        idOf={(group) => `${by} ${partOf(group).id}`}
        empty={<EmptyState title={text.empty} hint={text.emptyHint} />}
        columns={[
          {
            header: words.dimensions[by],
            cell: (group) => <GroupCell group={group} by={by} name={partOf(group).name} />,
          },
          { header: words.calls, isFigure: true, cell: ({ calls }) => format.count(calls) },
          {
            header: words.netCharge,
            isFigure: true,
            cell: ({ netChargeYuan }) => <Yuan amount={netChargeYuan} isShort />,
          },
          { header: text.margin, isFigure: true, cell: (group) => <Margin group={group} amount="marginYuan" /> },
          { header: text.marginShare, isFigure: true, cell: (group) => <MarginShare sums={group} /> },
          { header: text.cost, isFigure: true, cell: ({ costYuan }) => <Yuan amount={costYuan} isShort /> },
          { header: words.tokens, isFigure: true, cell: (group) => format.count(tokensOf(group)) },
          { header: words.charge, isFigure: true, cell: ({ chargeYuan }) => <Yuan amount={chargeYuan} isShort /> },
          { header: text.refunds, isFigure: true, cell: ({ refundYuan }) => <Yuan amount={refundYuan} isShort /> },
          ...AMOUNTS.filter(({ amount }) => items.some((group) => group[amount] !== null)).map(({ label, amount }) => ({
            header: text[label],
            isFigure: true,
            cell: (group: UsageGroup) => <Margin group={group} amount={amount} />,
          })),
        ]}
      />
    </Section>
  );
}

function GroupCell({ group, by, name }: { readonly group: UsageGroup; readonly by: Grouping; readonly name: string }) {
  if (by === 'account' && typeof group.accountId === 'string') {
    return <AccountLink accountId={group.accountId} name={name} />;
  }
  return name;
}

interface MarginProps {
  readonly group: UsageGroup;
  readonly amount: (typeof AMOUNTS)[number]['amount'] | 'marginYuan';
}

function Margin({ group, amount }: MarginProps) {
  const text = useTexts(operatorUsageTexts);
  const format = useFormat();
  if (group[amount] !== null) return <MarginYuan amount={group[amount]} />;
  return (
    <span title={amount === 'planRevenueYuan' ? text.revenueUnknown : unknownMargin(group, text, format)}>
      {amount.startsWith('plan') ? '–' : text.notKnown}
    </span>
  );
}
