import { Alert, Anchor, Stack, Text, TextInput } from '@mantine/core';
import { CheckIcon } from '@primer/octicons-react';
import { useAccountChoice } from '../../api/account-choice.ts';
import { ApiError } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import type { OwnVoucherRedemption } from '../../api/types.ts';
import { Form } from '../../parts/forms/form.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { redeemTexts } from './own-texts.ts';

export function RedeemPage() {
  const text = useTexts(redeemTexts);
  const redeem = useChange('POST /account/v1/vouchers');
  const [{ code }, field, set] = useDraft(() => ({ code: '' }));
  const submit = (): void => redeem.mutate({ body: { code: code.trim() } }, { onSuccess: () => set({ code: '' }) });
  const explained = redeem.error instanceof ApiError ? text.errors[String(redeem.error.status)] : undefined;
  return (
    <Page lead={text.lead}>
      <Section>
        <Stack maw={480}>
          <Form
            submitLabel={text.redeem}
            onSubmit={submit}
            isBusy={redeem.isPending}
            error={explained === undefined ? redeem.error : null}
            isOfChange
          >
            <TextInput
              label={text.code}
              description={text.codeHint}
              placeholder="7KQ2M-X0T4B-9WZ3H-DC5RA"
              required
              maxLength={100}
              autoComplete="off"
              spellCheck={false}
              error={explained}
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
              {...field('code')}
            />
          </Form>
          {redeem.data !== undefined && <Redeemed redemption={redeem.data} />}
        </Stack>
      </Section>
    </Page>
  );
}

function Redeemed({ redemption }: { readonly redemption: OwnVoucherRedemption }) {
  const text = useTexts(redeemTexts);
  const format = useFormat();
  const { role } = useAccountChoice();
  const { amountYuan, planId, subscriptionEndsAt, codeEnd, redeemedAt } = redemption;
  return (
    <Alert color="teal" icon={<CheckIcon />} title={text.redeemed} role="status">
      {amountYuan !== null && <Text>{text.gaveMoney(format.yuan(amountYuan))}</Text>}
      {planId !== null && (
        <Text>
          {subscriptionEndsAt === null
            ? text.gavePlanAlone(planId)
            : text.gavePlan(planId, format.instant(subscriptionEndsAt))}
        </Text>
      )}
      <Text size="sm">{text.codeEnd(codeEnd, format.instant(redeemedAt))}</Text>
      {planId !== null && <Anchor href="#/plan">{text.showPlan}</Anchor>}
      {amountYuan !== null && role === 'owner' && <Anchor href="#/ledger">{text.showLedger}</Anchor>}
    </Alert>
  );
}
