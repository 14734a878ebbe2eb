import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import type { BodyOf } from '../../api/client.ts';
import type { WebhookEndpoint } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { type FieldOf, useDraft } from '../../parts/forms/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { webhooksTexts } from './texts.ts';
import { useWebhookSide } from './webhook-side.ts';

type AccountEvent = NonNullable<BodyOf<'POST /account/v1/webhooks'>['events']>[number];
type Event = NonNullable<BodyOf<'POST /admin/v1/webhooks'>['events']>[number];

/** Events that accounts can receive; operators can receive all. */
const ACCOUNT_EVENTS: readonly AccountEvent[] = ['balance.low', 'plan.nearly_used', 'key.expiring', 'invoice.closed'];
const EVENTS: readonly Event[] = [
  ...ACCOUNT_EVENTS,
  'route.down',
  'provider.refused_account',
  'catalog.failed',
  'catalog.recovered',
  'prices.changed',
  'prices.failed',
];

interface EndpointDraft {
  readonly url: string;
  readonly hearsAll: boolean;
  readonly events: readonly Event[];
}

interface EndpointDialogProps extends DialogProps {
  /** `null` to create an endpoint. */
  readonly endpoint: WebhookEndpoint | null;
  /** Called with the secret of a new endpoint, which is shown once. */
  readonly onSecret?: (secret: string) => void;
}

export function EndpointDialog({ endpoint, onSecret, ...dialog }: EndpointDialogProps) {
  const { api } = useWebhookSide();
  const text = useTexts(webhooksTexts);
  const isOfAccount = endpoint === null ? api === '/account/v1' : endpoint.accountId !== null;
  const known: readonly Event[] = isOfAccount ? ACCOUNT_EVENTS : EVENTS;
  const [draft, field, set] = useDraft<EndpointDraft>(
    () => ({
      url: endpoint?.url ?? '',
      hearsAll: (endpoint?.events ?? null) === null,
      events: known.filter((event) => endpoint?.events?.includes(event) ?? true),
    }),
    dialog.isOpen,
  );
  const problem = () => (draft.hearsAll || draft.events.length > 0 ? null : text.eventMissing);
  const fields = <EndpointFields draft={draft} field={field} onChange={set} known={known} />;
  if (endpoint === null) {
    return (
      <ChangeDialog
        endpoint={`POST ${api}/webhooks` as const}
        title={text.create}
        {...dialog}
        input={() => ({ body: bodyOf(draft) })}
        problem={problem}
        onDone={({ secret }) => onSecret?.(secret)}
      >
        {fields}
      </ChangeDialog>
    );
  }
  return (
    <ChangeDialog
      endpoint={`PATCH ${api}/webhooks/{id}` as const}
      title={text.edit}
      {...dialog}
      input={() => ({ path: { id: endpoint.id }, body: bodyOf(draft) })}
      problem={problem}
      doneText={text.saved}
    >
      {fields}
    </ChangeDialog>
  );
}

/** The fields of an account's endpoint offer only account events, so the cast is safe. */
function bodyOf({ url, hearsAll, events }: EndpointDraft) {
  return { url: url.trim(), events: hearsAll ? null : (events as readonly AccountEvent[]) };
}

interface EndpointFieldsProps {
  readonly draft: EndpointDraft;
  readonly field: FieldOf<EndpointDraft>;
  readonly onChange: (change: Partial<EndpointDraft>) => void;
  readonly known: readonly Event[];
}

function EndpointFields({ draft: { hearsAll, events }, field, onChange, known }: EndpointFieldsProps) {
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
        {...field('url')}
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
          onChange={(chosen) => onChange({ events: known.filter((event) => chosen.includes(event)) })}
          error={events.length === 0 && text.eventMissing}
        >
          <Stack gap="xs">
            {known.map((event) => (
              <Checkbox key={event} value={event} label={text.eventNames[event]} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </>
  );
}
