import { SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { BodyOf } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import type { AccountOfOwner } from '../../api/types.ts';
import { callerTexts } from '../../parts/calls/caller-texts.ts';
import { type Recording, RecordingSwitches } from '../../parts/calls/recording-switches.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { ChangeForm } from '../../parts/forms/change-form.tsx';
import { changedMembers } from '../../parts/forms/changed-members.ts';
import { YuanField } from '../../parts/forms/number-fields.tsx';
import { isYuan, textOrNull } from '../../parts/forms/number-text.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { CallerBudgets } from '../../parts/limits/caller-budgets.tsx';
import { ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { BuyerForm } from './buyer-form.tsx';
import { RateLimits } from './own-rate-limits.tsx';
import { settingsTexts } from './own-texts.ts';

export function AccountSettingsPage() {
  const read = useRead('GET /account/v1/account', {});
  const account = read.data;
  return (
    <Page>
      <ReadState read={read} />
      {account?.role === 'owner' && (
        <>
          <About account={account} />
          <BuyerForm buyer={account.buyer} />
          <DailyCap account={account} />
          <MembersSight account={account} />
          <Recorded account={account} />
          <LowBalance />
          <RateLimits />
          <CallerBudgets accountId={null} mayChange />
        </>
      )}
    </Page>
  );
}

function About({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(settingsTexts);
  const stored = { name: account.name, email: account.email ?? '' };
  const [{ name, email }, field] = useDraft(() => stored);
  return (
    <Section title={text.account}>
      <Stack>
        <Facts
          facts={[
            [text.id, <CopyText key="id" value={account.id} />],
            [text.status, `${text[account.status]}${text.comma}${account.verified ? text.verified : text.unverified}`],
            [text.since, <Instant key="since" at={account.createdAt} />],
          ]}
        />
        <AccountForm body={changedMembers(stored, { name: name.trim(), email: email.trim() })}>
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <TextInput label={text.name} required maxLength={200} {...field('name')} />
            <TextInput
              label={text.email}
              description={text.emailHint}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              type="email"
              // An address can be changed but not removed.
              required={account.email !== null}
              maxLength={200}
              {...field('email')}
            />
          </SimpleGrid>
        </AccountForm>
      </Stack>
    </Section>
  );
}

function DailyCap({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(settingsTexts);
  const stored = account.ownDailySpendCapYuan ?? '';
  const [{ cap }, field] = useDraft(() => ({ cap: stored }));
  const isRight = cap === '' || isYuan(cap);
  const capOf = (amount: string | null) => (amount === null ? text.noLimit : <Yuan amount={amount} />);
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
        <AccountForm body={cap === stored || !isRight ? {} : { ownDailySpendCapYuan: textOrNull(cap) }}>
          <YuanField
            label={text.ownCap}
            description={text.ownCapHint}
            placeholder={text.noLimit}
            maw={320}
            {...field('cap')}
          />
        </AccountForm>
      </Stack>
    </Section>
  );
}

function MembersSight({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(settingsTexts);
  const stored = account.membersSeeBalance;
  const [{ isSeen }, , set] = useDraft(() => ({ isSeen: stored }));
  return (
    <Section title={text.members} lead={text.membersLead}>
      <AccountForm body={isSeen === stored ? {} : { membersSeeBalance: isSeen }}>
        <Switch
          label={text.membersSeeBalance}
          description={text.membersSeeBalanceHint}
          checked={isSeen}
          onChange={({ currentTarget }) => set({ isSeen: currentTarget.checked })}
        />
      </AccountForm>
    </Section>
  );
}

function Recorded({ account }: { readonly account: AccountOfOwner }) {
  const text = useTexts(callerTexts);
  const { recording: stored, recordingInForce } = account;
  const [draft, , set] = useDraft(() => stored);
  const changed = changedMembers(stored, draft);
  return (
    <Section title={text.recording} lead={text.recordingLead}>
      <AccountForm body={Object.keys(changed).length === 0 ? {} : { recording: changed }}>
        <RecordingSwitches value={draft} onChange={set} usual={usualOf(stored, recordingInForce)} />
      </AccountForm>
    </Section>
  );
}

/** What is in force although the account does not ask for it. */
const usualOf = (own: Recording, inForce: Recording): Recording => ({
  clientAddress: inForce.clientAddress && !own.clientAddress,
  program: inForce.program && !own.program,
  endUser: inForce.endUser && !own.endUser,
});

interface AccountFormProps {
  /** Only the changed members. The form has nothing to save if it is empty. */
  readonly body: BodyOf<'PATCH /account/v1/account'>;
  readonly children: ReactNode;
}

function AccountForm({ body, children }: AccountFormProps) {
  const text = useTexts(settingsTexts);
  return (
    <ChangeForm
      endpoint="PATCH /account/v1/account"
      input={Object.keys(body).length === 0 ? null : { body }}
      doneText={text.saved}
    >
      {children}
    </ChangeForm>
  );
}

function LowBalance() {
  const text = useTexts(settingsTexts);
  const read = useRead('GET /account/v1/low-balance', {});
  if (read.isPending || read.data === undefined) {
    return (
      <Section title={text.lowBalance}>
        <ReadState read={read} />
      </Section>
    );
  }
  return (
    <Section title={text.lowBalance} lead={read.data.hasMail ? text.lowBalanceMailLead : text.lowBalanceLead}>
      <LowBalanceForm stored={read.data.thresholdYuan ?? ''} usual={read.data.defaultThresholdYuan} />
    </Section>
  );
}

function LowBalanceForm({ stored, usual }: { readonly stored: string; readonly usual: string | null }) {
  const text = useTexts(settingsTexts);
  const format = useFormat();
  const [{ threshold }, field] = useDraft(() => ({ threshold: stored }));
  const isRight = threshold === '' || isYuan(threshold);
  return (
    <ChangeForm
      endpoint="PUT /account/v1/low-balance"
      input={threshold === stored || !isRight ? null : { body: { thresholdYuan: textOrNull(threshold) } }}
      doneText={text.saved}
    >
      <YuanField
        label={text.threshold}
        description={usual === null ? text.noThresholdHint : text.thresholdHint(format.yuan(usual))}
        maw={320}
        {...field('threshold')}
      />
    </ChangeForm>
  );
}
