import { Anchor, SimpleGrid, Stack } from '@mantine/core';
import type { FunctionComponent } from 'react';
import { useRead } from '../../api/queries.ts';
import type { Account } from '../../api/types.ts';
import { PageFrame } from '../../layout/page-frame.tsx';
import { percentOf } from '../../parts/basis-points.ts';
import { callerTexts } from '../../parts/calls/caller-texts.ts';
import { CopyText } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Instant, Tile, Yuan } from '../../parts/figures.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { CallerBudgets } from '../../parts/limits/caller-budgets.tsx';
import { loadedLater } from '../../parts/loaded-later.tsx';
import { hashOf } from '../../parts/location.ts';
import { Section } from '../../parts/section.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useMayOperate } from '../../session/may-operate.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import {
  DetailsDialog,
  type EditDialogProps,
  LowBalanceDialog,
  PricesDialog,
  RatesDialog,
  RecordingDialog,
} from './edit-dialogs.tsx';
import { StatusSection } from './status-section.tsx';
import { accountTexts } from './summary-texts.ts';

// The chart library is large, so it loads after the page.
const accountChart = loadedLater<{ readonly accountId: string }>(
  async () => (await import('./account-chart.tsx')).AccountChart,
);

interface SummaryProps {
  readonly account: Account;
}

export function SummaryTab({ account }: SummaryProps) {
  const text = useTexts(accountTexts);
  const format = useFormat();
  const mayOperate = useMayOperate();
  const { balanceYuan, heldYuan, spentTodayYuan, dailySpendCapYuan, priceFactorBasisPoints } = account;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Tile label={text.balance} detail={heldYuan === '0' ? undefined : text.held(format.yuan(heldYuan))}>
          <Yuan amount={balanceYuan} isShort />
        </Tile>
        <Tile
          label={text.spentToday}
          detail={dailySpendCapYuan === null ? undefined : text.ofCap(format.yuan(dailySpendCapYuan))}
        >
          <Yuan amount={spentTodayYuan} isShort />
        </Tile>
        <Tile label={text.priceFactor} detail={priceFactorBasisPoints === 10_000 ? text.listPrice : text.ofListPrice}>
          {percentOf(priceFactorBasisPoints)}%
        </Tile>
      </SimpleGrid>
      <Section
        title={text.chart}
        lead={text.chartLead}
        actions={<Anchor href={hashOf('/operator/usage', { accountId: account.id })}>{text.usage}</Anchor>}
      >
        <PageFrame>
          <accountChart.Component accountId={account.id} />
        </PageFrame>
      </Section>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <StatusSection account={account} />
        <DetailsSection account={account} />
        <PricesSection account={account} />
        <RatesSection account={account} />
      </SimpleGrid>
      <CallerBudgets accountId={account.id} mayChange={mayOperate} />
    </Stack>
  );
}

function DetailsSection({ account }: SummaryProps) {
  const text = useTexts(accountTexts);
  const caller = useTexts(callerTexts);
  const facts = (['endUser', 'program', 'clientAddress'] as const).flatMap((fact) =>
    account.recording[fact] ? [caller[fact]] : [],
  );
  return (
    <Section
      title={text.details}
      actions={
        <>
          <EditButton label={text.editDetails} account={account} Dialog={DetailsDialog} />
          <EditButton label={text.editRecording} account={account} Dialog={RecordingDialog} />
        </>
      }
    >
      <Facts
        facts={[
          [text.name, account.name],
          [text.email, account.email ?? text.none],
          [text.id, <CopyText key="id" value={account.id} />],
          [caller.recording, facts.join(text.comma) || caller.asConfigured],
          [text.created, <Instant key="created" at={account.createdAt} />],
        ]}
      />
    </Section>
  );
}

function PricesSection({ account }: SummaryProps) {
  const text = useTexts(accountTexts);
  const format = useFormat();
  const { id, dailySpendCapYuan: cap, ownDailySpendCapYuan: ownCap, priceFactorBasisPoints } = account;
  const low = useRead('GET /admin/v1/accounts/{id}/low-balance', { path: { id } }).data;
  const threshold = low?.thresholdYuan ?? low?.defaultThresholdYuan ?? null;
  const lowText = threshold === null ? text.notTold : text.below(format.yuan(threshold));
  return (
    <Section
      title={text.prices}
      actions={
        <>
          <EditButton label={text.editPrices} account={account} Dialog={PricesDialog} />
          {low !== undefined && <EditButton label={text.editLowBalance} account={account} Dialog={LowBalanceDialog} />}
        </>
      }
    >
      <Facts
        facts={[
          [text.cap, cap === null ? text.configured : format.yuan(cap)],
          [text.ownCap, ownCap === null ? text.none : text.noted(format.yuan(ownCap), text.ownCapHint)],
          [text.priceFactor, `${percentOf(priceFactorBasisPoints)}%`],
          [text.group, account.groupId ?? text.none],
          [
            text.lowBalance,
            low === undefined ? '…' : low.thresholdYuan === null ? text.noted(lowText, text.configured) : lowText,
          ],
        ]}
      />
    </Section>
  );
}

function RatesSection({ account }: SummaryProps) {
  const text = useTexts(accountTexts);
  const format = useFormat();
  const limitText = (requests: number | null, tokens: number | null): string =>
    [
      requests === null ? null : `${text.requests} ${format.count(requests)}`,
      tokens === null ? null : `${text.tokens} ${format.count(tokens)}`,
    ]
      .filter((each) => each !== null)
      .join(' · ') || text.noLimit;
  return (
    <Section title={text.rates} actions={<EditButton label={text.editRates} account={account} Dialog={RatesDialog} />}>
      <Facts
        facts={[
          [text.allModels, limitText(account.requestsPerMinute, account.tokensPerMinute)],
          ...Object.entries(account.modelLimits).map(
            ([model, own]) => [model, limitText(own.requestsPerMinute, own.tokensPerMinute)] as const,
          ),
        ]}
      />
    </Section>
  );
}

interface EditButtonProps extends SummaryProps {
  readonly label: string;
  readonly Dialog: FunctionComponent<EditDialogProps>;
}

/** Auditors do not get the button. */
function EditButton({ label, account, Dialog }: EditButtonProps) {
  const [open, dialog] = useDialog();
  if (!useMayOperate()) return null;
  return (
    <>
      <SmallButton onClick={open}>{label}</SmallButton>
      <Dialog account={account} {...dialog} />
    </>
  );
}
