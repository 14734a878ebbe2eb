import { Button, Menu, NativeSelect, Stack, Text } from '@mantine/core';
import { useList, useRead } from '../../api/queries.ts';
import type { Subscription } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { InstantInput } from '../../parts/forms/instant-input.tsx';
import { useConfirm } from '../../parts/forms/use-confirm.tsx';
import { type DialogProps, usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { ListTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { RowMenu } from '../../parts/row-menu.tsx';
import { Section } from '../../parts/section.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useTexts } from '../../text/language.tsx';
import { fromLocalTime } from '../../text/local-time.ts';
import { useTimezone } from '../../text/timezone.tsx';
import { operatorPlanTexts } from './operator-texts.ts';
import { PlanRemainderSection } from './plan-remainder.tsx';
import { useSubscriptionColumns } from './subscription-columns.tsx';
import { planTexts } from './texts.ts';

export function PlanTab({ accountId }: { readonly accountId: string }) {
  const text = useTexts(operatorPlanTexts);
  const words = useTexts(planTexts);
  const mayOperate = useMayOperate();
  const [open, grant] = usePlaceDialog('grant');
  const [ask, confirmation] = useConfirm();
  const list = useList('GET /admin/v1/accounts/{id}/subscriptions', { path: { id: accountId } });
  const renew = (id: string) =>
    ask({
      label: text.renew,
      question: text.renewQuestion,
      endpoint: 'POST /admin/v1/subscriptions/{id}/renewals',
      input: { path: { id } },
    });
  const cancel = (id: string) =>
    ask({
      label: text.cancel,
      question: text.cancelQuestion,
      isDangerous: true,
      endpoint: 'DELETE /admin/v1/subscriptions/{id}',
      input: { path: { id } },
    });
  const actions = ({ id, planId, status }: Subscription) =>
    status !== 'canceled' && (
      <RowMenu label={text.actionsFor(planId)}>
        <Menu.Item onClick={() => renew(id)}>{text.renew}</Menu.Item>
        {status !== 'expired' && (
          <Menu.Item color="red" onClick={() => cancel(id)}>
            {text.cancel}
          </Menu.Item>
        )}
      </RowMenu>
    );
  return (
    <Stack>
      <PlanRemainderSection accountId={accountId} />
      <Section title={words.history} actions={mayOperate && <Button onClick={open}>{text.grant}</Button>}>
        <ListTable
          label={words.history}
          list={list}
          columns={useSubscriptionColumns<Subscription>()}
          actions={mayOperate && actions}
          empty={<EmptyState title={text.noSubscriptions} />}
        />
      </Section>
      {confirmation}
      {mayOperate && <GrantDialog accountId={accountId} {...grant} />}
    </Stack>
  );
}

interface GrantDialogProps extends DialogProps {
  readonly accountId: string;
}

function GrantDialog({ accountId, ...dialog }: GrantDialogProps) {
  const text = useTexts(operatorPlanTexts);
  const { zone } = useTimezone();
  const words = useTexts(planTexts);
  const plans = useRead('GET /admin/v1/plans', {}, { isWanted: dialog.isOpen }).data?.data;
  const [{ planId, startsAt }, field] = useDraft(() => ({ planId: '', startsAt: '' }), dialog.isOpen);
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/accounts/{id}/subscriptions"
      title={text.grant}
      {...dialog}
      input={() => ({ path: { id: accountId }, body: { planId, startsAt: fromLocalTime(startsAt, zone) || null } })}
    >
      <Text size="sm">{plans?.length === 0 ? text.noPlans : text.grantHint}</Text>
      <NativeSelect
        label={words.plan}
        required
        data-autofocus
        {...field('planId')}
        data={[
          { value: '', label: text.choosePlan },
          ...(plans ?? []).map(({ id, name, periodDays }) => ({
            value: id,
            label: `${name} · ${words.days(String(periodDays))}`,
          })),
        ]}
      />
      <InstantInput label={text.startsAt} description={text.startsAtHint} {...field('startsAt')} />
    </ChangeDialog>
  );
}
