import { Badge, Code, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useList, useRead } from '../../api/queries.ts';
import type { RevisionSummary } from '../../api/types.ts';
import { ChangeList } from '../../parts/catalog/change-list.tsx';
import { Examples } from '../../parts/catalog/examples.tsx';
import { InstantChoice, useInstant } from '../../parts/catalog/review.tsx';
import { catalogTexts } from '../../parts/catalog/texts.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { Facts } from '../../parts/facts.tsx';
import { Instant } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { ConfirmButton } from '../../parts/forms/confirm-button.tsx';
import { useDialog } from '../../parts/forms/use-dialog.ts';
import { GatewayMessage } from '../../parts/gateway-message.tsx';
import { ListTable } from '../../parts/list-table.tsx';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { DimmedText, SmallButton } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { revisionTexts } from './texts.ts';

export function RevisionState({ catalog: { state, scheduled, canEdit } }: { readonly catalog: Catalog }) {
  const text = useTexts(revisionTexts);
  const { mode, inForce } = state;
  return (
    <Section title={text.inForce}>
      <Facts
        facts={[
          [text.storedIn, text.modes[mode]],
          [text.inForce, inForce === null ? text.noRevision : <RevisionLine key="inForce" revision={inForce} />],
          [
            text.scheduled,
            scheduled && (
              <Group key="scheduled" gap="xs">
                <RevisionLine revision={scheduled} />
                {canEdit && <CancelButton number={scheduled.number} />}
              </Group>
            ),
          ],
        ]}
      />
    </Section>
  );
}

function RevisionLine({ revision }: { readonly revision: RevisionSummary }) {
  const { number, inForceAt, createdBy, reason } = revision;
  return (
    <span>
      {number} · <Instant at={inForceAt} /> · {createdBy}
      {reason !== null && (
        <>
          {' · '}
          <GatewayMessage>{reason}</GatewayMessage>
        </>
      )}
    </span>
  );
}

function CancelButton({ number }: Pick<RevisionSummary, 'number'>) {
  const text = useTexts(revisionTexts);
  return (
    <ConfirmButton
      endpoint="DELETE /admin/v1/catalog/revisions/{id}"
      label={text.cancelRevision}
      question={text.cancelQuestion(String(number))}
      input={{ path: { id: String(number) } }}
      doneText={text.canceledDone}
      isDangerous
    />
  );
}

export function RevisionHistory({ catalog }: { readonly catalog: Catalog }) {
  const text = useTexts(revisionTexts);
  const list = useList('GET /admin/v1/catalog/revisions', {});
  const [shown, setShown] = useState<RevisionSummary | null>(null);
  return (
    <>
      <Section title={text.history}>
        <ListTable
          label={text.history}
          list={list}
          idOf={({ number }) => String(number)}
          empty={<EmptyState title={text.noRevision} hint={text.noRevisionHint} />}
          columns={[
            { header: text.revision, cell: ({ number }) => number },
            { header: text.effect, cell: (revision) => <Effect revision={revision} catalog={catalog} /> },
            { header: text.by, cell: ({ createdBy }) => createdBy },
            {
              header: text.reason,
              cell: ({ reason }) => (reason === null ? '–' : <GatewayMessage>{reason}</GatewayMessage>),
            },
            { header: text.source, cell: ({ source }) => text.sources[source] },
          ]}
          actions={(revision) => (
            <SmallButton aria-label={text.openRevision(String(revision.number))} onClick={() => setShown(revision)}>
              {text.open}
            </SmallButton>
          )}
        />
      </Section>
      <Modal
        opened={shown !== null}
        onClose={() => setShown(null)}
        title={shown === null ? '' : text.revisionTitle(String(shown.number))}
        size="xl"
      >
        {shown !== null && <RevisionDetails summary={shown} catalog={catalog} onDone={() => setShown(null)} />}
      </Modal>
    </>
  );
}

interface OfCatalog {
  readonly revision: RevisionSummary;
  readonly catalog: Catalog;
}

function Effect({ revision, catalog: { state } }: OfCatalog) {
  const text = useTexts(revisionTexts);
  const { number, inForceAt, canceledAt } = revision;
  const isInForce = number === state.inForce?.number;
  const isDraft = inForceAt === null;
  const isScheduled = !isDraft && state.inForce !== null && number > state.inForce.number && canceledAt === null;
  return (
    <Group gap="xs" justify="inherit">
      {isDraft ? <Badge color="blue">{text.draft}</Badge> : <Instant at={inForceAt} />}
      {canceledAt !== null && <Badge color="gray">{isDraft ? text.discarded : text.canceled}</Badge>}
      {isInForce && <Badge color="teal">{text.inForce}</Badge>}
      {isScheduled && <Badge color="yellow">{text.scheduled}</Badge>}
    </Group>
  );
}

interface RevisionDetailsProps {
  readonly summary: RevisionSummary;
  readonly catalog: Catalog;
  readonly onDone: () => void;
}

function RevisionDetails({ summary, catalog, onDone }: RevisionDetailsProps) {
  const text = useTexts(revisionTexts);
  const words = useTexts(catalogTexts);
  const [open, dialog] = useDialog();
  const { number, createdAt, createdBy, reason, source, inForceAt, appliedBy, canceledAt, canceledBy, base } = summary;
  const read = useRead('GET /admin/v1/catalog/revisions/{id}', { path: { id: String(number) } });
  const isDraft = inForceAt === null;
  const mayDecide = catalog.canEdit && isDraft && canceledAt === null;
  const mayRollBack = catalog.canEdit && !isDraft && number !== catalog.state.base;
  return (
    <Stack>
      <Facts
        facts={[
          [text.created, <Instant key="created" at={createdAt} />],
          [text.by, createdBy],
          [text.reason, reason && <GatewayMessage key="reason">{reason}</GatewayMessage>],
          [text.source, text.sources[source]],
          [text.base, base === null ? null : String(base)],
          [text.effect, isDraft ? text.draftHint : <Instant key="effect" at={inForceAt} />],
          [text.appliedBy, appliedBy],
          [
            isDraft ? text.discarded : text.canceled,
            canceledAt && (
              <span key="canceled">
                <Instant at={canceledAt} /> {canceledBy}
              </span>
            ),
          ],
        ]}
      />
      <ReadState read={read} />
      {read.data !== undefined && (
        <>
          <Section title={words.difference}>
            <Stack>
              <ChangeList changes={read.data.difference} />
              <Examples examples={read.data.examples} />
            </Stack>
          </Section>
          <Section title={text.textOf}>
            <Code block mah={420} style={{ overflow: 'auto' }} tabIndex={0} aria-label={text.textOf} role="region">
              {read.data.text}
            </Code>
          </Section>
        </>
      )}
      {mayDecide && <DraftDecision number={number} onDone={onDone} />}
      {mayRollBack && (
        <Group justify="flex-end">
          <SmallButton onClick={open}>{text.rollBack}</SmallButton>
        </Group>
      )}
      <RollbackDialog number={number} {...dialog} onDone={onDone} />
    </Stack>
  );
}

function DraftDecision({ number, onDone }: Pick<RollbackDialogProps, 'number' | 'onDone'>) {
  const text = useTexts(revisionTexts);
  const words = useTexts(catalogTexts);
  const [open, dialog] = useDialog();
  const when = useInstant();
  return (
    <Group justify="flex-end">
      <ConfirmButton
        endpoint="DELETE /admin/v1/catalog/revisions/{id}"
        label={text.discardDraft}
        question={text.discardQuestion(String(number))}
        input={{ path: { id: String(number) } }}
        doneText={text.discardedDone}
        onDone={onDone}
        isDangerous
      />
      <SmallButton variant="filled" onClick={open}>
        {text.applyDraft}
      </SmallButton>
      <ChangeDialog
        endpoint="POST /admin/v1/catalog/revisions/{id}/apply"
        title={text.applyTitle(String(number))}
        submitLabel={text.applyDraft}
        {...dialog}
        problem={() => (when.read() === undefined ? words.instantNeeded : null)}
        input={() => ({ path: { id: String(number) }, body: { inForceAt: when.read() ?? null } })}
        doneText={words.published(String(number))}
        onDone={onDone}
      >
        <InstantChoice when={when} />
      </ChangeDialog>
    </Group>
  );
}

interface RollbackDialogProps {
  readonly number: number;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RollbackDialog({ number, onDone, ...dialog }: RollbackDialogProps) {
  const text = useTexts(revisionTexts);
  const words = useTexts(catalogTexts);
  const [reason, setReason] = useState('');
  const when = useInstant();
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/catalog/revisions/{id}/rollback"
      title={text.rollBackTitle(String(number))}
      submitLabel={text.rollBack}
      {...dialog}
      problem={() => (when.read() === undefined ? words.instantNeeded : null)}
      input={() => ({
        path: { id: String(number) },
        body: { reason: reason.trim() || null, inForceAt: when.read() ?? null },
      })}
      doneText={({ number: made }) => words.published(String(made))}
      onDone={onDone}
    >
      <DimmedText>{text.rollBackHint}</DimmedText>
      <TextInput
        label={text.reason}
        description={words.reasonHint}
        value={reason}
        maxLength={500}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
      <InstantChoice when={when} />
    </ChangeDialog>
  );
}
