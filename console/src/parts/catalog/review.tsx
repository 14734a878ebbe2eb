import { Alert, Button, Group, SegmentedControl, Stack, Text, TextInput, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { AlertIcon } from '@primer/octicons-react';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { useChange, useRead } from '../../api/queries.ts';
import { useTexts } from '../../text/language.tsx';
import { fromLocalTime } from '../../text/local-time.ts';
import { useTimezone } from '../../text/timezone.tsx';
import { InstantInput } from '../forms/instant-input.tsx';
import { ErrorNotice } from '../notices.tsx';
import { ChangeList } from './change-list.tsx';
import { Examples } from './examples.tsx';
import { catalogTexts } from './texts.ts';
import type { CatalogDraft, CheckedDraft } from './use-check.ts';

interface ReviewProps {
  readonly checked: CheckedDraft;
  readonly onBack: () => void;
  readonly onPublished: () => void;
  /** Checks the draft again, from another revision. */
  readonly onCheck: (draft: CatalogDraft) => void;
}

/** The difference that a draft without problems would make, and its publication. */
export function Review({ checked: { draft, check }, onBack, onPublished, onCheck }: ReviewProps) {
  const text = useTexts(catalogTexts);
  const { mutate, reset, isPending, error } = useChange('POST /admin/v1/catalog/revisions');
  const [reason, setReason] = useState('');
  const when = useInstant();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refusal is of one draft
  useEffect(reset, [draft]);
  const isOutdated = error instanceof ApiError && error.code === 'catalog_outdated';
  const send = (body: { readonly inForceAt: string | null } | { readonly isDraft: true }): void =>
    mutate(
      { body: { ...draft, reason: reason.trim() || null, ...body } },
      {
        onSuccess: ({ number, inForceAt }) => {
          const said = inForceAt === null ? text.drafted : text.published;
          notifications.show({ color: 'teal', message: said(String(number)) });
          onPublished();
        },
      },
    );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // React events bubble from a dialog to a form around it.
    event.stopPropagation();
    const inForceAt = when.read();
    if (inForceAt !== undefined) send({ inForceAt });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Title order={3} size="h5">
          {text.difference}
        </Title>
        <ChangeList changes={check.changes} />
        <Examples examples={check.examples} />
        <TextInput
          label={text.reason}
          description={text.reasonHint}
          maxLength={500}
          value={reason}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
        />
        <InstantChoice when={when} />
        {isOutdated ? (
          <Outdated base={draft.base} onCheck={(base) => onCheck({ ...draft, base })} />
        ) : (
          <ErrorNotice error={when.problem === null ? error : new Error(when.problem)} isOfChange />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onBack} disabled={isPending}>
            {text.back}
          </Button>
          <Button variant="default" onClick={() => send({ isDraft: true })} disabled={isPending || isOutdated}>
            {text.saveDraft}
          </Button>
          <Button type="submit" loading={isPending} disabled={isOutdated}>
            {text.publish}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** At once, or at an instant. `read` gives `null` for at once, and `undefined` if the instant is not valid. */
export function useInstant() {
  const text = useTexts(catalogTexts);
  const { zone } = useTimezone();
  const [isLater, setLater] = useState(false);
  const [local, setLocal] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const read = (): string | null | undefined => {
    const instant = isLater ? fromLocalTime(local, zone) : null;
    setProblem(instant === '' ? text.instantNeeded : null);
    return instant === '' ? undefined : instant;
  };
  return { isLater, setLater, local, setLocal, problem, read };
}

export function InstantChoice({ when }: { readonly when: ReturnType<typeof useInstant> }) {
  const text = useTexts(catalogTexts);
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        {text.takesEffect}
      </Text>
      <SegmentedControl
        aria-label={text.takesEffect}
        data={[
          { value: 'now', label: text.atOnce },
          { value: 'later', label: text.atInstant },
        ]}
        value={when.isLater ? 'later' : 'now'}
        onChange={(chosen) => when.setLater(chosen === 'later')}
        style={{ alignSelf: 'flex-start' }}
      />
      {when.isLater && <InstantInput label={text.instant} value={when.local} onChange={when.setLocal} required />}
    </Stack>
  );
}

interface OutdatedProps {
  readonly base: number | null;
  readonly onCheck: (base: number | null) => void;
}

/** What others have published since a draft was begun. */
function Outdated({ base, onCheck }: OutdatedProps) {
  const text = useTexts(catalogTexts);
  const last = useRead('GET /admin/v1/catalog', {}).data?.base ?? null;
  const isNewer = last !== null && last !== base;
  const read = useRead(
    'GET /admin/v1/catalog/difference',
    { query: { from: base ?? 0, to: last ?? 0 } },
    { isWanted: isNewer && base !== null },
  );
  return (
    <Alert color="orange" icon={<AlertIcon />} title={text.outdated} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{text.outdatedHint}</Text>
        <ErrorNotice error={read.error} />
        {read.data !== undefined && <ChangeList changes={read.data.changes} />}
        <Button size="xs" variant="default" disabled={!isNewer} onClick={() => onCheck(last)}>
          {text.checkAgain}
        </Button>
      </Stack>
    </Alert>
  );
}
