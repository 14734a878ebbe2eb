import { Menu, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useChange } from '../../api/queries.ts';
import type { WebhookEndpoint } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { RowMenu } from '../../parts/row-menu.tsx';
import { useTexts } from '../../text/language.tsx';
import { EndpointDialog } from './endpoint-dialogs.tsx';
import { webhooksTexts } from './texts.ts';
import { useWebhookSide } from './webhook-side.ts';

interface EndpointMenuProps {
  readonly endpoint: WebhookEndpoint;
  readonly onShowDeliveries: (endpoint: WebhookEndpoint) => void;
}

export function EndpointMenu({ endpoint, onShowDeliveries }: EndpointMenuProps) {
  const text = useTexts(webhooksTexts);
  const { api, mayChange } = useWebhookSide();
  const path = { id: endpoint.id };
  const change = useChange(`PATCH ${api}/webhooks/{id}` as const);
  const test = useChange(`POST ${api}/webhooks/{id}/test` as const);
  const [openEdit, edit] = useDialog();
  const [openDelete, remove] = useDialog();
  const isActive = endpoint.status === 'active';
  const done = (message: string): void => {
    notifications.show({ color: 'teal', message });
  };
  const showError = ({ message }: Error): void => {
    notifications.show({ color: 'red', message });
  };
  const switchTo = (status: 'active' | 'disabled', message: string): void =>
    change.mutate({ path, body: { status } }, { onSuccess: () => done(message), onError: showError });
  const sendTest = (): void =>
    test.mutate(
      { path },
      {
        onSuccess: () => {
          done(text.testSent);
          onShowDeliveries(endpoint);
        },
        onError: showError,
      },
    );
  return (
    <>
      <RowMenu label={text.actionsFor(endpoint.url)}>
        <Menu.Item onClick={() => onShowDeliveries(endpoint)}>{text.deliveries}</Menu.Item>
        {mayChange && (
          <>
            {isActive && <Menu.Item onClick={sendTest}>{text.test}</Menu.Item>}
            <Menu.Divider />
            <Menu.Item onClick={openEdit}>{text.edit}</Menu.Item>
            <Menu.Item
              onClick={() => (isActive ? switchTo('disabled', text.disabled) : switchTo('active', text.enabled))}
            >
              {isActive ? text.disable : text.enable}
            </Menu.Item>
            <Menu.Item color="red" onClick={openDelete}>
              {text.delete}
            </Menu.Item>
          </>
        )}
      </RowMenu>
      <EndpointDialog endpoint={endpoint} {...edit} />
      <ChangeDialog
        endpoint={`DELETE ${api}/webhooks/{id}` as const}
        title={text.delete}
        isDangerous
        {...remove}
        input={() => ({ path })}
        doneText={text.deleted}
      >
        <Text>{text.deleteQuestion(endpoint.url)}</Text>
      </ChangeDialog>
    </>
  );
}
