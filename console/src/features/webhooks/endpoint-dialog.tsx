import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { BodyOf } from '../../api/client.ts';
import type { WebhookEndpoint } from '../../api/types.ts';
import { FormDialog } from '../../parts/forms/dialogs.tsx';
import { useTexts } from '../../text/language.tsx';
import { webhooksTexts } from './texts.ts';

type NewEndpoint = BodyOf<'POST /account/v1/webhooks'>;
type OwnEvent = NonNullable<NewEndpoint['events']>[number];

/** What an account can hear of. */
const EVENTS: readonly OwnEvent[] = ['balance.low', 'plan.nearly_used', 'key.expiring'];

interface EndpointDialogProps {
  readonly title: string;
  /** Absent: a new one. */
  readonly endpoint?: WebhookEndpoint;
  readonly onSubmit: (body: NewEndpoint) => void;
  readonly onClose: () => void;
  readonly isBusy: boolean;
  readonly error: Error | null;
}

/** The address of an endpoint, and what it hears of. */
export function EndpointDialog({ title, endpoint, onSubmit, onClose, isBusy, error }: EndpointDialogProps) {
  const text = useTexts(webhooksTexts);
  const [url, setUrl] = useState(endpoint?.url ?? '');
  const [hearsAll, setHearsAll] = useState(endpoint === undefined || endpoint.events === null);
  const [events, setEvents] = useState<readonly string[]>(endpoint?.events ?? EVENTS);
  const chosen = EVENTS.filter((event) => events.includes(event));
  const submit = (): void => {
    if (hearsAll || chosen.length > 0) onSubmit({ url: url.trim(), events: hearsAll ? null : chosen });
  };
  return (
    <FormDialog
      title={title}
      isOpen
      onClose={onClose}
      submitLabel={title}
      onSubmit={submit}
      isBusy={isBusy}
      error={error}
    >
      <TextInput
        label={text.url}
        description={text.urlHint}
        placeholder="https://receiver.example/hook"
        type="url"
        required
        maxLength={2000}
        value={url}
        onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        data-autofocus
      />
      <NativeSelect
        label={text.events}
        value={hearsAll ? 'all' : 'chosen'}
        onChange={({ currentTarget }) => setHearsAll(currentTarget.value === 'all')}
        data={[
          { value: 'all', label: text.allEvents },
          { value: 'chosen', label: text.chosenEvents },
        ]}
      />
      {!hearsAll && (
        <Checkbox.Group
          aria-label={text.chosenEvents}
          value={chosen}
          onChange={setEvents}
          error={chosen.length === 0 && text.eventMissing}
        >
          <Stack gap="xs">
            {EVENTS.map((event) => (
              <Checkbox key={event} value={event} label={text.eventNames[event]} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </FormDialog>
  );
}
