import { Anchor, SimpleGrid } from '@mantine/core';
import { useList, useRead } from '../../api/queries.ts';
import { hashOf } from '../../layout/location.tsx';
import { dayAfter, dayIn } from '../../parts/days.ts';
import { Tile, useNowMs, Yuan } from '../../parts/figures.tsx';
import { ErrorNotice } from '../../parts/notices.tsx';
import { useSession } from '../../session/session.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { liveTexts } from './texts.ts';

interface TodayTilesProps {
  readonly inFlight: { readonly items: readonly unknown[]; readonly hasMore: boolean };
}

const UNRESOLVED_MAX = 100;

/** The figures of the day that is now in the billing time zone, and what waits for a decision. */
export function TodayTiles({ inFlight }: TodayTilesProps) {
  const text = useTexts(liveTexts);
  const format = useFormat();
  const { sums, failedCalls, error } = useToday();
  const unresolved = useList(
    'GET /admin/v1/calls',
    { query: { status: 'unresolved', limit: UNRESOLVED_MAX } },
    { isLive: true },
  );
  const countOf = (list: TodayTilesProps['inFlight']): string =>
    list.hasMore ? text.atLeast(format.count(list.items.length)) : format.count(list.items.length);
  const calls = sums?.calls ?? 0;
  const hasUnresolved = unresolved.items.length > 0;
  return (
    <>
      <ErrorNotice error={error} />
      <SimpleGrid cols={{ base: 2, md: 3, lg: 6 }} spacing="sm" role="group" aria-label={text.today}>
        <Tile label={text.inFlight}>{countOf(inFlight)}</Tile>
        <Tile label={text.callsToday}>{format.count(calls)}</Tile>
        <Tile
          label={text.failedToday}
          detail={calls === 0 ? undefined : text.ofCalls(format.percent(failedCalls / calls))}
        >
          {format.count(failedCalls)}
        </Tile>
        <Tile
          label={text.chargeToday}
          detail={
            sums !== undefined && /[1-9]/.test(sums.refundYuan)
              ? text.refunded(format.yuan(sums.refundYuan, true))
              : undefined
          }
        >
          <Yuan amount={sums?.netChargeYuan ?? '0'} isShort />
        </Tile>
        <Tile
          label={text.marginToday}
          detail={sums !== undefined && sums.marginYuan === null ? text.marginUnknown : undefined}
        >
          <Yuan amount={sums === undefined ? '0' : sums.marginYuan} isShort />
        </Tile>
        <Tile
          label={text.unresolved}
          detail={
            hasUnresolved ? (
              <Anchor size="sm" href={hashOf('/operator/unresolved')}>
                {text.unresolvedSome}
              </Anchor>
            ) : (
              text.unresolvedNone
            )
          }
        >
          {countOf(unresolved)}
        </Tile>
      </SimpleGrid>
    </>
  );
}

/** The sums of today; `undefined`: nothing was called yet, or they are being read. */
function useToday() {
  const { billingTimezone } = useSession();
  const day = dayIn(billingTimezone, useNowMs());
  const query = { from: day, to: dayAfter(day) };
  const sums = useRead('GET /admin/v1/usage', { query }, { isLive: true });
  const failed = useRead('GET /admin/v1/usage', { query: { ...query, status: 'failed' } }, { isLive: true });
  return {
    sums: sums.data?.data[0],
    failedCalls: failed.data?.data[0]?.calls ?? 0,
    error: sums.error ?? failed.error,
  };
}
