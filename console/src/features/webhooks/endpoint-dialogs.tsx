import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import type { BodyOf } from '../../api/client.ts';
import type { WebhookEndpoint } from '../../api/types.ts';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import type { DialogProps } from '../../parts/forms/use-dialog.ts';
import { type FieldOf, useDraft } from '../../parts/forms/use-draft.ts';
import { useLanguage, useTexts } from '../../text/language.tsx';
import { webhooksTexts } from './texts.ts';
import { useWebhookSide } from './webhook-side.ts';

type AccountEvent = NonNullable<BodyOf<'POST /account/v1/webhooks'>['events']>[number];
type Event = NonNullable<BodyOf<'POST /admin/v1/webhooks'>['events']>[number];

/** Events that accounts can receive; operators can receive all. */
const ACCOUNT_EVENTS: readonly AccountEvent[] = [
  'balance.low',
  'budget.nearly_used',
  'plan.nearly_used',
  'key.expiring',
  'invoice.closed',
];
const EVENTS: readonly Event[] = [
  ...ACCOUNT_EVENTS,
  'route.down',
  'provider.refused_account',
  'provider.budget_nearly_used',
  'catalog.failed',
  'catalog.recovered',
  'prices.changed',
  'prices.failed',
];

type Form = WebhookEndpoint['form'];

const FORMS: readonly Form[] = ['faregate', 'feishu', 'dingtalk', 'wecom', 'slack', 'telegram'];

/** Messengers whose robots can verify signatures. */
const WITH_SECRET: readonly Form[] = ['feishu', 'dingtalk'];

interface EndpointDraft {
  readonly form: Form;
  readonly url: string;
  readonly secret: string;
  readonly language: 'usual' | 'en' | 'zh';
  readonly hearsAll: boolean;
  readonly events: readonly Event[];
}

interface EndpointDialogProps extends DialogProps {
  /** `null` to create an endpoint. */
  readonly endpoint: WebhookEndpoint | null;
  /** Called with the secret of a new endpoint, which is shown once; `null`: a messenger's, which has none. */
  readonly onCreated?: (secret: string | null) => void;
}

export function EndpointDialog({ endpoint, onCreated, ...dialog }: EndpointDialogProps) {
  const { api } = useWebhookSide();
  const text = useTexts(webhooksTexts);
  const { language } = useLanguage();
  const isOfAccount = endpoint === null ? api === '/account/v1' : endpoint.accountId !== null;
  const known: readonly Event[] = isOfAccount ? ACCOUNT_EVENTS : EVENTS;
  const [draft, field, set] = useDraft<EndpointDraft>(
    () => ({
      form: endpoint?.form ?? 'faregate',
      // The address of a messenger is shown without its secret, so it cannot be edited.
      url: endpoint?.form === 'faregate' ? endpoint.url : '',
      secret: '',
      language: endpoint === null ? language : (endpoint.language ?? 'usual'),
      hearsAll: (endpoint?.events ?? null) === null,
      events: known.filter((event) => endpoint?.events?.includes(event) ?? true),
    }),
    dialog.isOpen,
  );
  const problem = () => (draft.hearsAll || draft.events.length > 0 ? null : text.eventMissing);
  const fields = <EndpointFields endpoint={endpoint} draft={draft} field={field} onChange={set} known={known} />;
  if (endpoint === null) {
    return (
      <ChangeDialog
        endpoint={`POST ${api}/webhooks` as const}
        title={text.create}
        {...dialog}
        input={() => ({ body: { ...bodyOf(draft), url: draft.url.trim(), form: draft.form } })}
        problem={problem}
        onDone={({ secret }) => onCreated?.(secret)}
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
      input={() => ({ path: { id: endpoint.id }, body: changeOf(draft) })}
      problem={problem}
      doneText={text.saved}
    >
      {fields}
    </ChangeDialog>
  );
}

/** The fields of an account's endpoint offer only account events, so the cast is safe. */
function bodyOf({ form, secret, language, hearsAll, events }: EndpointDraft) {
  return {
    events: hearsAll ? null : (events as readonly AccountEvent[]),
    ...(WITH_SECRET.includes(form) && secret.trim() !== '' && { secret: secret.trim() }),
    ...(form !== 'faregate' && { language: language === 'usual' ? null : language }),
  };
}

/** An empty address keeps the present one. */
function changeOf(draft: EndpointDraft) {
  const url = draft.url.trim();
  return { ...bodyOf(draft), ...(url !== '' && { url }) };
}

interface EndpointFieldsProps {
  readonly endpoint: WebhookEndpoint | null;
  readonly draft: EndpointDraft;
  readonly field: FieldOf<EndpointDraft>;
  readonly onChange: (change: Partial<EndpointDraft>) => void;
  readonly known: readonly Event[];
}

function EndpointFields({ endpoint, draft, field, onChange, known }: EndpointFieldsProps) {
  const { form, hearsAll, events } = draft;
  const text = useTexts(webhooksTexts);
  const isMessenger = form !== 'faregate';
  const isKept = endpoint !== null && isMessenger;
  return (
    <>
      {endpoint === null && (
        <NativeSelect
          label={text.form}
          value={form}
          onChange={({ currentTarget }) => onChange({ form: currentTarget.value as Form })}
          data={FORMS.map((value) => ({ value, label: text.forms[value] }))}
        />
      )}
      <TextInput
        label={text.url}
        description={[
          ...(isMessenger ? [] : [text.urlHint]),
          text.formHints[form],
          ...(isKept ? [text.urlKept] : []),
        ].join(text.space)}
        placeholder={isMessenger ? undefined : 'https://receiver.example/hook'}
        type="url"
        required={!isKept}
        maxLength={2000}
        {...field('url')}
        data-autofocus
      />
      {WITH_SECRET.includes(form) && (
        <TextInput
          label={text.secret}
          description={[text.robotSecretHint, ...(endpoint?.isSigned ? [text.secretKept] : [])].join(text.space)}
          maxLength={200}
          autoComplete="off"
          {...field('secret')}
        />
      )}
      {isMessenger && (
        <NativeSelect
          label={text.messageLanguage}
          value={draft.language}
          onChange={({ currentTarget }) => onChange({ language: currentTarget.value as EndpointDraft['language'] })}
          data={(['usual', 'en', 'zh'] as const).map((value) => ({ value, label: text.languages[value] }))}
        />
      )}
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
