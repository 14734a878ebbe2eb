import { Badge, Button, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useList } from '../../api/queries.ts';
import type { WebhookEndpoint } from '../../api/types.ts';
import { Instant } from '../../parts/figures.tsx';
import { usePlaceDialog } from '../../parts/forms/use-dialog.ts';
import { AccountLink } from '../../parts/links.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { usePlaceQuery } from '../../parts/location.ts';
import { EmptyState } from '../../parts/notices.tsx';
import { Page, usePageTitle } from '../../parts/page.tsx';
import { SecretDialog } from '../../parts/secret-dialog.tsx';
import { Section } from '../../parts/section.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { Deliveries } from './deliveries.tsx';
import { EndpointDialog } from './endpoint-dialogs.tsx';
import { EndpointMenu } from './endpoint-menu.tsx';
import { webhooksTexts } from './texts.ts';
import { useWebhookSide } from './webhook-side.ts';

/** Webhook endpoints. The page address names the endpoint whose deliveries are shown. */
export function Endpoints({ lead }: { readonly lead: string }) {
  const text = useTexts(webhooksTexts);
  const [query, setQuery] = usePlaceQuery();
  const { api, mayChange } = useWebhookSide();
  const isOperators = api === '/admin/v1';
  const list = useList(`GET ${api}/webhooks` as const, {}, { isLive: true });
  const shown = list.items.find(({ id }) => id === query.endpoint);
  const showDeliveries = (endpoint: WebhookEndpoint) => setQuery({ endpoint: endpoint.id });
  return (
    <Page lead={lead} actions={mayChange && <CreateButton />}>
      <Section>
        <ListTable<WebhookEndpoint>
          label={usePageTitle()}
          list={list}
          empty={<EmptyState title={text.none} hint={text.noneHint} />}
          columns={[
            {
              header: text.url,
              cell: ({ form, url }) => (
                <Stack gap={2}>
                  <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                    {url}
                  </Text>
                  {form !== 'faregate' && <Text size="sm">{text.forms[form]}</Text>}
                </Stack>
              ),
            },
            ...(isOperators
              ? [
                  {
                    header: text.account,
                    cell: ({ accountId }: WebhookEndpoint) =>
                      accountId === null ? text.operators : <AccountLink accountId={accountId} />,
                  },
                ]
              : []),
            {
              header: text.events,
              cell: ({ events }) => events?.map((event) => text.eventNames[event]).join(text.comma) ?? text.all,
            },
            { header: text.state, cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
            { header: text.createdAt, cell: ({ createdAt }) => <Instant at={createdAt} isRelative /> },
          ]}
          actions={(endpoint) => <EndpointMenu endpoint={endpoint} onShowDeliveries={showDeliveries} />}
        />
      </Section>
      {shown !== undefined && (
        <Deliveries key={shown.id} endpoint={shown} onClose={() => setQuery({ endpoint: null })} />
      )}
    </Page>
  );
}

function EndpointState({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const text = useTexts(webhooksTexts);
  const format = useFormat();
  const { status, statusReason, failingSince } = endpoint;
  return (
    <Stack gap={2} align="flex-start">
      <Badge color={status === 'active' ? 'teal' : 'gray'}>{text.states[status]}</Badge>
      {statusReason !== null && <Text size="sm">{statusReason}</Text>}
      {failingSince !== null && <Text size="sm">{text.failingSince(format.instant(failingSince))}</Text>}
    </Stack>
  );
}

function CreateButton() {
  const text = useTexts(webhooksTexts);
  const [open, dialog] = usePlaceDialog('new');
  const [secret, setSecret] = useState<string | null>(null);
  const showCreated = (made: string | null): void => {
    if (made === null) notifications.show({ color: 'teal', message: text.madeMessenger });
    else setSecret(made);
  };
  return (
    <>
      <Button onClick={open}>{text.create}</Button>
      <EndpointDialog endpoint={null} {...dialog} onCreated={showCreated} />
      <SecretDialog title={text.created} secret={secret} hint={text.secretOnce} onClose={() => setSecret(null)}>
        {text.secretHint}
      </SecretDialog>
    </>
  );
}
