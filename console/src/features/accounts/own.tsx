import { SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import type { BodyOf } from '../../api/client.ts';
import { useChange, useRead } from '../../api/queries.ts';
import type { AccountOfOwner } from '../../api/types.ts';
import { CopyText } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { YuanField } from '../../parts/forms/number-fields.tsx';
import { isYuan } from '../../parts/forms/number-text.ts';
import { SaveForm } from '../../parts/forms/save-form.tsx';
import { ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { commonTexts } from '../../parts/texts.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { RateLimits } from './own-rate-limits.tsx';
import { settingsTexts } from './own-texts.ts';

/** What owners may set of the account, and what is in force for it. */
export function AccountSettingsPage() {
  const text = useTexts(settingsTexts);
  const read = useRead('GET /account/v1/account', {});
  const account = read.data;
  return (
    <Page title={text.title}>
      <ErrorNotice error={read.error} onRetry={() => void read.refetch()} />
      {read.isPending && <Loading />}
      {account?.role === 'owner' && (
        <>
          <About account={account} />
          <DailyCap account={account} />
          <MembersSight account={account} />
          <LowBalance />
          <RateLimits />
        </>
      )}
    </Page>
  );
}

function About({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(settingsTexts);
  const common = useTexts(commonTexts);
  const [name, setName] = useState(account.name);
  const [email, setEmail] = useState(account.email ?? '');
  const body: BodyOf<'PATCH /account/v1/account'> = {
    ...(name.trim() === account.name ? {} : { name: name.trim() }),
    ...(email.trim() === (account.email ?? '') ? {} : { email: email.trim() }),
  };
  return (
    <Section title={text.account}>
      <Stack>
        <Facts
          facts={[
            [text.id, <CopyText key="id" value={account.id} />],
            [text.standing, `${common[account.status]}, ${account.verified ? common.verified : common.unverified}`],
            [text.since, <Instant key="since" at={account.createdAt} />],
          ]}
        />
        <AccountForm body={body}>
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <TextInput
              label={text.name}
              required
              maxLength={200}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <TextInput
              label={text.email}
              description={text.emailHint}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              type="email"
              // An address can be changed, and not taken away.
              required={account.email !== null}
              maxLength={200}
              value={email}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
            />
          </SimpleGrid>
        </AccountForm>
      </Stack>
    </Section>
  );
}

function DailyCap({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(settingsTexts);
  const common = useTexts(commonTexts);
  const stored = account.ownDailySpendCapYuan ?? '';
  const [cap, setCap] = useState(stored);
  const isRight = cap === '' || isYuan(cap);
  const capOf = (amount: string | null) => (amount === null ? common.noLimit : <Yuan amount={amount} />);
  return (
    <Section title={text.cap} lead={text.capLead}>
      <Stack>
        <Facts
          facts={[
            [text.inForce, capOf(account.dailySpendCapInForceYuan)],
            [text.operatorCap, account.dailySpendCapYuan === null ? null : capOf(account.dailySpendCapYuan)],
            [text.spentToday, <Yuan key="spent" amount={account.spentTodayYuan} />],
          ]}
        />
        <AccountForm body={cap === stored || !isRight ? {} : { ownDailySpendCapYuan: cap === '' ? null : cap }}>
          <YuanField
            label={text.ownCap}
            description={text.ownCapHint}
            placeholder={common.noLimit}
            maw={320}
            value={cap}
            onChange={setCap}
          />
        </AccountForm>
      </Stack>
    </Section>
  );
}

function MembersSight({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(settingsTexts);
  const stored = account.membersSeeBalance;
  const [isSeen, setIsSeen] = useState(stored);
  return (
    <Section title={text.members} lead={text.membersLead}>
      <AccountForm body={isSeen === stored ? {} : { membersSeeBalance: isSeen }}>
        <Switch
          label={text.membersSeeBalance}
          description={text.membersSeeBalanceHint}
          checked={isSeen}
          onChange={({ currentTarget }) => setIsSeen(currentTarget.checked)}
        />
      </AccountForm>
    </Section>
  );
}

interface AccountFormProps {
  /** What has changed; nothing: there is nothing to save. */
  readonly body: BodyOf<'PATCH /account/v1/account'>;
  readonly children: ReactNode;
}

function AccountForm({ body, children }: AccountFormProps) {
  const text = useTexts(settingsTexts);
  const change = useChange('PATCH /account/v1/account');
  const submit = (): void =>
    change.mutate({ body }, { onSuccess: () => notifications.show({ color: 'teal', message: text.saved }) });
  return (
    <SaveForm isChanged={Object.keys(body).length > 0} isBusy={change.isPending} error={change.error} onSubmit={submit}>
      {children}
    </SaveForm>
  );
}

function LowBalance() {
  const text = useTexts(settingsTexts);
  const read = useRead('GET /account/v1/low-balance', {});
  if (read.isPending || read.data === undefined) {
    return (
      <Section title={text.lowBalance}>
        {read.isPending ? <Loading /> : <ErrorNotice error={read.error} onRetry={() => void read.refetch()} />}
      </Section>
    );
  }
  return (
    <Section title={text.lowBalance} lead={text.lowBalanceLead}>
      <LowBalanceForm stored={read.data.thresholdYuan ?? ''} usual={read.data.defaultThresholdYuan} />
    </Section>
  );
}

function LowBalanceForm({ stored, usual }: { readonly stored: string; readonly usual: string | null }) {
  const text = useTexts(settingsTexts);
  const format = useFormat();
  const put = useChange('PUT /account/v1/low-balance');
  const [threshold, setThreshold] = useState(stored);
  const submit = (): void =>
    put.mutate(
      { body: { thresholdYuan: threshold === '' ? null : threshold } },
      { onSuccess: () => notifications.show({ color: 'teal', message: text.saved }) },
    );
  return (
    <SaveForm
      isChanged={threshold !== stored && (threshold === '' || isYuan(threshold))}
      isBusy={put.isPending}
      error={put.error}
      onSubmit={submit}
    >
      <YuanField
        label={text.threshold}
        description={usual === null ? text.noThresholdHint : text.thresholdHint(format.yuan(usual))}
        maw={320}
        value={threshold}
        onChange={setThreshold}
      />
    </SaveForm>
  );
}
