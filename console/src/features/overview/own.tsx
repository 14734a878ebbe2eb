import { Alert, Anchor, SimpleGrid, Text } from '@mantine/core';
import { useEffect } from 'react';
import { useRead } from '../../api/queries.ts';
import type { AccountOfOwner } from '../../api/types.ts';
import { PageFrame } from '../../layout/page-frame.tsx';
import { Tile, Yuan } from '../../parts/figures.tsx';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { loadedLater } from '../../parts/loaded-later.tsx';
import { ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { PlanRings } from '../../parts/plan/plan-rings.tsx';
import { Section } from '../../parts/section.tsx';
import { percentSpent, UsedBar } from '../../parts/usage/used-bar.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { toNano } from '../../text/yuan.ts';
import { Hints } from './hints.tsx';
import { NewestCalls } from './newest-calls.tsx';
import { overviewTexts } from './texts.ts';
import { UsedBudgets } from './used-budgets.tsx';

// The chart library is half the size of everything else, so it loads after the page.
const chargeByDay = loadedLater(async () => (await import('./charge-by-day.tsx')).ChargeByDay);

export function OverviewPage() {
  const text = useTexts(overviewTexts);
  const format = useFormat();
  useEffect(chargeByDay.preload, []);
  const account = useRead('GET /account/v1/account', {}, { isLive: true });
  const planRead = useRead('GET /account/v1/plan', {}, { isLive: true });
  const inFlightRead = useRead('GET /account/v1/calls', { query: { status: 'in_flight' } }, { isLive: true });
  const { data } = account;
  const { data: plan } = planRead;
  const { data: inFlight } = inFlightRead;
  // Reads usually fail together, so one notice is enough.
  const failed = [account, planRead, inFlightRead].find(({ error }) => error !== null);
  return (
    <Page lead={data?.role === 'member' ? text.member : data?.name}>
      <ErrorNotice error={failed?.error ?? null} onRetry={() => void failed?.refetch()} />
      {account.isPending && <Loading />}
      {data !== undefined && (
        <>
          <Hints account={data} />
          <UsedBudgets account={data} />
        </>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2, lg: data?.role === 'owner' ? 3 : 1 }}>
        {data?.role === 'owner' && <Money account={data} />}
        <Tile label={text.inFlight} detail={inFlight === undefined ? undefined : text.now(inFlight.data.length)}>
          {inFlight === undefined
            ? '–'
            : `${format.count(inFlight.data.length)}${inFlight.nextCursor === null ? '' : '+'}`}
        </Tile>
      </SimpleGrid>
      {plan !== undefined && plan.planId !== null && (
        <Section
          title={`${text.coding} · ${plan.planName ?? plan.planId}`}
          actions={<Anchor href="#/plan">{text.coding}</Anchor>}
        >
          {plan.isUsable ? null : (
            <Alert color="orange">
              {plan.message === null ? text.planNotUsable : <GatewayMessage>{plan.message}</GatewayMessage>}
            </Alert>
          )}
          <PlanRings plan={plan} />
        </Section>
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Section title={text.chart} lead={text.last14Days} actions={<Anchor href="#/usage">{text.usage}</Anchor>}>
          {data === undefined ? (
            account.isPending && <Loading />
          ) : (
            <PageFrame>
              <chargeByDay.Component today={data.today} />
            </PageFrame>
          )}
        </Section>
        <Section title={text.newest} actions={<Anchor href="#/calls">{text.allCalls}</Anchor>}>
          <NewestCalls />
        </Section>
      </SimpleGrid>
    </Page>
  );
}

function Money({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(overviewTexts);
  const format = useFormat();
  const { balanceYuan, heldYuan, spentTodayYuan, dailySpendCapInForceYuan: cap } = account;
  const isHeld = toNano(heldYuan) > 0n;
  return (
    <>
      <Tile label={text.balance} detail={isHeld ? text.held(format.yuan(heldYuan)) : text.nothingHeld}>
        <Yuan amount={balanceYuan} isShort />
      </Tile>
      <Tile
        label={text.spentToday}
        detail={
          cap === null ? (
            text.noCap
          ) : (
            <>
              <Text size="sm">{text.ofCap(format.yuan(cap))}</Text>
              <UsedBar percent={percentSpent(spentTodayYuan, cap)} label={text.capLabel} />
            </>
          )
        }
      >
        <Yuan amount={spentTodayYuan} isShort />
      </Tile>
    </>
  );
}
