import { Badge, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useChange, useList } from '../../api/queries.ts';
import type { WebhookDelivery, WebhookEndpoint } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { EmptyState, ErrorNotice } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallButton } from '../../parts/small.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { webhooksTexts } from './texts.ts';
import { useWebhookSide } from './webhook-side.ts';

const COLORS = { pending: 'blue', delivered: 'teal', failed: 'red' } as const;

interface DeliveriesProps {
  readonly endpoint: WebhookEndpoint;
  readonly onClose: () => void;
}

/** Past and scheduled deliveries of an endpoint. Each can be resent. */
export function Deliveries({ endpoint, onClose }: DeliveriesProps) {
  const text = useTexts(webhooksTexts);
  const format = useFormat();
  const { api, mayChange } = useWebhookSide();
  const path = { id: endpoint.id };
  const list = useList(`GET ${api}/webhooks/{id}/deliveries` as const, { path }, { isLive: true });
  const redeliver = useChange(`POST ${api}/webhooks/{id}/redeliver` as const);
  const sendAgain = (noticeId: string): void =>
    redeliver.mutate(
      { path, body: { noticeId } },
      { onSuccess: () => notifications.show({ color: 'teal', message: text.redelivered }) },
    );
  return (
    <Section
      title={text.deliveries}
      lead={endpoint.url}
      actions={<SmallButton onClick={onClose}>{text.hideDeliveries}</SmallButton>}
    >
      <Stack gap="sm">
        <ErrorNotice error={redeliver.error} />
        <ListTable<WebhookDelivery>
          label={text.deliveries}
          list={list}
          idOf={({ noticeId }) => noticeId}
          empty={<EmptyState title={text.noDeliveries} hint={text.noDeliveriesHint} />}
          columns={[
            { header: text.at, cell: ({ at }) => <Instant at={at} /> },
            { header: text.event, cell: ({ event }) => text.eventNames[event] },
            {
              header: text.state,
              cell: ({ status }) => <Badge color={COLORS[status]}>{text.deliveryStates[status]}</Badge>,
            },
            { header: text.attempts, isFigure: true, cell: ({ attempts }) => format.count(attempts) },
            { header: text.response, cell: (delivery) => <LastResponse delivery={delivery} /> },
            {
              header: text.next,
              cell: ({ nextAttemptAt: at }) => (at === null ? '–' : <Instant at={at} isRelative />),
            },
          ]}
          actions={({ noticeId, status }) =>
            mayChange &&
            status !== 'pending' && (
              <SmallButton
                loading={redeliver.isPending && redeliver.variables.body.noticeId === noticeId}
                onClick={() => sendAgain(noticeId)}
              >
                {text.redeliver}
              </SmallButton>
            )
          }
        />
      </Stack>
    </Section>
  );
}

function LastResponse({ delivery: { lastStatus, lastError } }: { readonly delivery: WebhookDelivery }) {
  if (lastStatus === null && lastError === null) return '–';
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {lastStatus}
      {lastStatus !== null && lastError !== null && ' · '}
      {lastError !== null && <GatewayMessage>{lastError}</GatewayMessage>}
    </Text>
  );
}
