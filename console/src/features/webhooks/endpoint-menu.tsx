import { ActionIcon, Group, Menu, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { KebabHorizontalIcon } from '@primer/octicons-react';
import { useState } from 'react';
import type { BodyOf } from '../../api/client.ts';
import { useChange } from '../../api/queries.ts';
import type { WebhookEndpoint } from '../../api/types.ts';
import { FormDialog } from '../../parts/forms/dialogs.tsx';
import { useTexts } from '../../text/language.tsx';
import { EndpointDialog } from './endpoint-dialog.tsx';
import { webhooksTexts } from './texts.ts';

interface EndpointMenuProps {
  readonly endpoint: WebhookEndpoint;
  readonly onShowDeliveries: (endpoint: WebhookEndpoint) => void;
}

/** What can be done with an endpoint. */
export function EndpointMenu({ endpoint, onShowDeliveries }: EndpointMenuProps) {
  const text = useTexts(webhooksTexts);
  const path = { id: endpoint.id };
  const change = useChange('PATCH /account/v1/webhooks/{id}');
  const test = useChange('POST /account/v1/webhooks/{id}/test');
  const remove = useChange('DELETE /account/v1/webhooks/{id}');
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null);
  const isActive = endpoint.status === 'active';
  const save = (body: BodyOf<'PATCH /account/v1/webhooks/{id}'>, message: string): void =>
    change.mutate({ path, body }, { onSuccess: () => done(message), onError: showError });
  const done = (message: string): void => {
    setDialog(null);
    notifications.show({ color: 'teal', message });
  };
  const open = (wanted: 'edit' | 'delete'): void => {
    change.reset();
    remove.reset();
    setDialog(wanted);
  };
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
  // An open dialog says itself what went wrong.
  const showError = ({ message }: Error): void => {
    if (dialog === null) notifications.show({ color: 'red', message });
  };
  return (
    <Group justify="flex-end">
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={text.actionsFor(endpoint.url)}>
            <KebabHorizontalIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => onShowDeliveries(endpoint)}>{text.showDeliveries}</Menu.Item>
          {isActive && <Menu.Item onClick={sendTest}>{text.test}</Menu.Item>}
          <Menu.Divider />
          <Menu.Item onClick={() => open('edit')}>{text.edit}</Menu.Item>
          <Menu.Item
            onClick={() =>
              isActive ? save({ status: 'disabled' }, text.disabled) : save({ status: 'active' }, text.enabled)
            }
          >
            {isActive ? text.disable : text.enable}
          </Menu.Item>
          <Menu.Item color="red" onClick={() => open('delete')}>
            {text.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {dialog === 'edit' && (
        <EndpointDialog
          title={text.edit}
          endpoint={endpoint}
          onClose={() => setDialog(null)}
          isBusy={change.isPending}
          error={change.error}
          onSubmit={(body) => save(body, text.saved)}
        />
      )}
      <FormDialog
        title={text.delete}
        isOpen={dialog === 'delete'}
        onClose={() => setDialog(null)}
        submitLabel={text.delete}
        onSubmit={() => remove.mutate({ path }, { onSuccess: () => done(text.deleted) })}
        isBusy={remove.isPending}
        error={remove.error}
        isDangerous
      >
        <Text>{text.deleteQuestion(endpoint.url)}</Text>
      </FormDialog>
    </Group>
  );
}
