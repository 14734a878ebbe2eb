import { Anchor, SimpleGrid } from '@mantine/core';
import { useList, useRead } from '../../api/queries.ts';
import { dayAfter, dayIn } from '../../parts/days.ts';
import { Tile, useNowMs, Yuan } from '../../parts/figures.tsx';
import { hashOf } from '../../parts/location.ts';
import { ErrorNotice } from '../../parts/notices.tsx';
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
  const { sums, failedCalls, error, retry } = useToday();
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
        <Tile label={text.callsToday}>{sums === null ? '–' : format.count(sums.calls)}</Tile>
        <Tile
          label={text.failedToday}
          detail={
            sums === null || failedCalls === null || sums.calls === 0
              ? undefined
              : text.ofCalls(format.percent(failedCalls / sums.calls))
          }
        >
          {failedCalls === null ? '–' : format.count(failedCalls)}
        </Tile>
        <Tile
          label={text.chargeToday}
          detail={
            sums !== null && /[1-9]/.test(sums.refundYuan) ? text.refunded(format.yuan(sums.refundYuan)) : undefined
          }
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

/** `null` sums are unknown. */
function useToday() {
  const { billingTimezone } = useSession();
  const day = dayIn(billingTimezone, useNowMs());
  const query = { from: day, to: dayAfter(day) };
  const sums = useRead('GET /admin/v1/usage', { query }, { isLive: true });
  const failed = useRead('GET /admin/v1/usage', { query: { ...query, status: 'failed' } }, { isLive: true });
  return {
    sums: sums.data === undefined ? null : (sums.data.data[0] ?? NOTHING),
    failedCalls: failed.data === undefined ? null : (failed.data.data[0]?.calls ?? 0),
    error: sums.error ?? failed.error,
    retry: () => void Promise.all([sums.refetch(), failed.refetch()]),
  };
}
