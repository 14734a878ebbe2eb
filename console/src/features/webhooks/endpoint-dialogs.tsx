import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { BodyOf } from '../../api/client.ts';
import type { WebhookEndpoint } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { webhooksTexts } from './texts.ts';

type OwnEvent = NonNullable<BodyOf<'POST /account/v1/webhooks'>['events']>[number];

/** What an account can hear of. */
const EVENTS: readonly OwnEvent[] = ['balance.low', 'plan.nearly_used', 'key.expiring'];

interface EndpointDraft {
  readonly url: string;
  readonly hearsAll: boolean;
  readonly events: readonly OwnEvent[];
}

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Adds an endpoint; its secret is shown once. */
export function NewEndpointDialog(props: DialogProps & { readonly onSecret: (secret: string) => void }) {
  const { isOpen, onClose, onSecret } = props;
  const text = useTexts(webhooksTexts);
  const [draft, set] = useDraft<EndpointDraft>(() => ({ url: '', hearsAll: true, events: EVENTS }), isOpen);
  return (
    <ChangeDialog
      endpoint="POST /account/v1/webhooks"
      title={text.create}
      submitLabel={text.create}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({ body: bodyOf(draft) })}
      problem={() => (isWhole(draft) ? null : text.eventMissing)}
      onDone={({ secret }) => onSecret(secret)}
    >
      <EndpointFields draft={draft} onChange={set} />
    </ChangeDialog>
  );
}

export function EditEndpointDialog(props: DialogProps & { readonly endpoint: WebhookEndpoint }) {
  const { endpoint, isOpen, onClose } = props;
  const text = useTexts(webhooksTexts);
  const [draft, set] = useDraft<EndpointDraft>(() => draftOf(endpoint), isOpen);
  return (
    <ChangeDialog
      endpoint="PATCH /account/v1/webhooks/{id}"
      title={text.edit}
      submitLabel={text.edit}
      isOpen={isOpen}
      onClose={onClose}
      input={() => ({ path: { id: endpoint.id }, body: bodyOf(draft) })}
      problem={() => (isWhole(draft) ? null : text.eventMissing)}
      onDone={() => notifications.show({ color: 'teal', message: text.saved })}
    >
      <EndpointFields draft={draft} onChange={set} />
    </ChangeDialog>
  );
}

function draftOf({ url, events }: WebhookEndpoint): EndpointDraft {
  return { url, hearsAll: events === null, events: EVENTS.filter((event) => events?.includes(event) ?? true) };
}

function isWhole({ hearsAll, events }: EndpointDraft): boolean {
  return hearsAll || events.length > 0;
}

function bodyOf({ url, hearsAll, events }: EndpointDraft) {
  return { url: url.trim(), events: hearsAll ? null : events };
}

interface EndpointFieldsProps {
  readonly draft: EndpointDraft;
  readonly onChange: (change: Partial<EndpointDraft>) => void;
}

/** The address of an endpoint, and what it hears of. */
function EndpointFields({ draft: { url, hearsAll, events }, onChange }: EndpointFieldsProps) {
  const text = useTexts(webhooksTexts);
  return (
    <>
      <TextInput
        label={text.url}
        description={text.urlHint}
        placeholder="https://receiver.example/hook"
        type="url"
        required
        maxLength={2000}
        value={url}
        onChange={({ currentTarget }) => onChange({ url: currentTarget.value })}
        data-autofocus
      />
      <NativeSelect
        label={text.events}
        value={hearsAll ? 'all' : 'chosen'}
        onChange={({ currentTarget }) => onChange({ hearsAll: currentTarget.value === 'all' })}
        data={[
          { value: 'all', label: text.allEvents },
          { value: 'chosen', label: text.chosenEvents },
        ]}
      />
      {!hearsAll && (
        <Checkbox.Group
          aria-label={text.chosenEvents}
          value={[...events]}
          onChange={(chosen) => onChange({ events: EVENTS.filter((event) => chosen.includes(event)) })}
          error={events.length === 0 && text.eventMissing}
        >
          <Stack gap="xs">
            {EVENTS.map((event) => (
              <Checkbox key={event} value={event} label={text.eventNames[event]} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </>
  );
}
