import { Button, Group, Text, TextInput } from '@mantine/core';
import type { Account } from '../../api/types.ts';
import { Facts } from '../../parts/facts.tsx';
import { Instant } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { accountTexts } from './summary-texts.ts';

export function StatusSection({ account }: { readonly account: Account }) {
  const text = useTexts(accountTexts);
  const mayOperate = useMayOperate();
  const path = { id: account.id };
  const isActive = account.status === 'active';
  return (
    <Section title={text.status}>
      <Facts
        facts={[
          [text.status, text[account.status]],
          [text.reason, account.statusReason],
          [text.since, account.statusChangedAt && <Instant at={account.statusChangedAt} />],
          [text.verification, account.verified ? text.verified : text.unverified],
        ]}
      />
      {mayOperate && (
        <Group gap="xs" mt="sm">
          {isActive ? (
            <SuspendButton account={account} />
          ) : (
            <ConfirmButton
              label={text.reactivate}
              question={text.reactivateQuestion}
              endpoint="PATCH /admin/v1/accounts/{id}"
              input={{ path, body: { status: 'active' } }}
            />
          )}
          <ConfirmButton
            label={account.verified ? text.unverify : text.verify}
            question={account.verified ? text.unverifyQuestion : text.verifyQuestion}
            isDangerous={account.verified}
            endpoint="PATCH /admin/v1/accounts/{id}"
            input={{ path, body: { verified: !account.verified } }}
          />
        </Group>
      )}
    </Section>
  );
}

function SuspendButton({ account }: { readonly account: Account }) {
  const text = useTexts(accountTexts);
  const [open, dialog] = useDialog();
  const [{ reason }, field] = useDraft(() => ({ reason: '' }), dialog.isOpen);
  return (
    <>
      <Button size="compact-sm" variant="light" color="red" onClick={open}>
        {text.suspend}
      </Button>
      <ChangeDialog
        endpoint="PATCH /admin/v1/accounts/{id}"
        title={text.suspend}
        isDangerous
        {...dialog}
        input={() => ({ path: { id: account.id }, body: { status: 'suspended' as const, statusReason: reason } })}
      >
        <Text size="sm">{text.suspendHint}</Text>
        <TextInput
          label={text.reason}
          description={text.reasonHint}
          required
          data-autofocus
          maxLength={200}
          {...field('reason')}
        />
      </ChangeDialog>
    </>
  );
}
