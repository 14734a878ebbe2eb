import { Anchor, SimpleGrid } from '@mantine/core';
import { useList, useRead } from '../../api/queries.ts';
import type { UsageGroup } from '../../api/types.ts';
import { dayIn, daysOf, lastDays, usageRange } from '../../parts/days.ts';
import { Tile, useNowMs, Yuan } from '../../parts/figures.tsx';
import { hashOf } from '../../parts/location.ts';
import { ErrorNotice } from '../../parts/notices.tsx';
import { SmallText } from '../../parts/small.ts';
import { Sparkline } from '../../parts/sparkline.tsx';
import { MarginShare, MarginYuan } from '../../parts/usage/margin-share.tsx';
import { useSession } from '../../session/session.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { liveTexts } from './texts.ts';

interface TodayTilesProps {
  readonly inFlight: { readonly items: readonly unknown[]; readonly hasMore: boolean };
}

const UNRESOLVED_MAX = 100;

/** Figures of the current day in the billing time zone, and the number of unresolved calls. */
export function TodayTiles({ inFlight }: TodayTilesProps) {
  const text = useTexts(liveTexts);
  const format = useFormat();
  const { days, error, retry } = useDays();
  const { sums, failedCalls } = days.at(-1) ?? { sums: null, failedCalls: null };
  const yesterday = days.at(-2);
  const trendOf = (name: string, figure: (day: OneDay) => number, write: (day: OneDay) => string) =>
    yesterday === undefined ? undefined : (
      <>
        <Sparkline values={days.map(figure)} label={text.trendOf(name)} />
        <SmallText>{text.yesterday(write(yesterday))}</SmallText>
      </>
    );
  const failedShare = ({ sums: { calls }, failedCalls: failed }: OneDay): number => (calls === 0 ? 0 : failed / calls);
  const unresolved = useList(
    'GET /admin/v1/calls',
    { query: { status: 'unresolved', limit: UNRESOLVED_MAX } },
    { isLive: true },
  );
  const countOf = (list: TodayTilesProps['inFlight']): string =>
    list.hasMore ? text.atLeast(format.count(list.items.length)) : format.count(list.items.length);
  const hasUnresolved = unresolved.items.length > 0;
  const isUnresolvedKnown = !unresolved.isLoading && (unresolved.error === null || hasUnresolved);
  return (
    <>
      <ErrorNotice error={error ?? unresolved.error} onRetry={error === null ? unresolved.retry : retry} />
      <SimpleGrid cols={{ base: 2, md: 3, lg: 6 }} spacing="sm" role="group" aria-label={text.today}>
        <Tile label={text.inFlight}>{countOf(inFlight)}</Tile>
        <Tile
          label={text.callsToday}
          trend={trendOf(
            text.callsToday,
            (day) => day.sums.calls,
            (day) => format.count(day.sums.calls),
          )}
        >
          {sums === null ? '–' : format.count(sums.calls)}
        </Tile>
        <Tile
          label={text.failedToday}
          detail={
            sums === null || failedCalls === null || sums.calls === 0
              ? undefined
              : text.ofCalls(format.percent(failedCalls / sums.calls))
          }
          trend={trendOf(text.failedToday, failedShare, (day) => format.percent(failedShare(day)))}
        >
          {failedCalls === null ? '–' : format.count(failedCalls)}
        </Tile>
        <Tile
          label={text.chargeToday}
          detail={
            sums !== null && /[1-9]/.test(sums.refundYuan) ? text.refunded(format.yuan(sums.refundYuan)) : undefined
          }
          trend={trendOf(
            text.chargeToday,
            (day) => Number(day.sums.netChargeYuan),
            (day) => format.yuan(day.sums.netChargeYuan, true),
          )}
        >
          <Yuan amount={sums === null ? null : sums.netChargeYuan} isShort />
        </Tile>
        <Tile
          label={text.marginToday}
          detail={
            sums === null ? undefined : sums.marginYuan === null ? (
              text.marginUnknown
            ) : (
              <MarginYuan amount={sums.marginYuan} />
            )
          }
          trend={trendOf(
            text.marginToday,
            (day) => Number(day.sums.marginYuan ?? 0),
            (day) => (day.sums.marginYuan === null ? text.notKnown : format.yuan(day.sums.marginYuan, true)),
          )}
        >
          <MarginShare sums={sums ?? undefined} />
        </Tile>
        <Tile
          label={text.unresolved}
          detail={
            hasUnresolved ? (
              <Anchor size="sm" href={hashOf('/operator/unresolved')}>
                {text.unresolvedSome}
              </Anchor>
            ) : (
              isUnresolvedKnown && text.unresolvedNone
            )
          }
        >
          {isUnresolvedKnown ? countOf(unresolved) : '–'}
        </Tile>
      </SimpleGrid>
    </>
  );
}

const DAYS = 8;

const NOTHING = {
  calls: 0,
  netChargeYuan: '0',
  refundYuan: '0',
  planRevenueYuan: '0',
  marginYuan: '0',
  marginBasisPoints: null,
  balanceMarginYuan: '0',
  balanceMarginBasisPoints: null,
  costedNetChargeYuan: '0',
  costedMarginBasisPoints: null,
};

interface OneDay {
  readonly sums: typeof NOTHING | UsageGroup;
  readonly failedCalls: number;
}

/** Today and the seven days before, oldest first; empty until they are loaded. */
function useDays() {
  const { billingTimezone } = useSession();
  const range = lastDays(DAYS, dayIn(billingTimezone, useNowMs()));
  const query = { ...usageRange(range), groupBy: 'day' };
  const sums = useRead('GET /admin/v1/usage', { query }, { isLive: true });
  const failed = useRead('GET /admin/v1/usage', { query: { ...query, status: 'failed' } }, { isLive: true });
  const days: OneDay[] =
    sums.data === undefined || failed.data === undefined
      ? []
      : daysOf(range).map((day) => ({
          sums: sums.data.data.find((group) => group.day === day) ?? NOTHING,
          failedCalls: failed.data.data.find((group) => group.day === day)?.calls ?? 0,
        }));
  return {
    days,
    error: sums.error ?? failed.error,
    retry: () => void Promise.all([sums.refetch(), failed.refetch()]),
  };
}
