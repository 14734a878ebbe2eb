import { Code, Modal, Stack, Switch, Table, Text } from '@mantine/core';
import { useState } from 'react';
import type { Change } from '../../api/types.ts';
import { Facts } from '../../parts/facts.tsx';
import { Instant } from '../../parts/figures.tsx';
import { useLanguage, useTexts } from '../../text/language.tsx';
import { type FieldChange, fieldsOf, isAltered, sharedFieldsOf } from './difference.ts';
import { useFieldWriter } from './field-writer.ts';
import { changesTexts } from './texts.ts';

interface ChangeDialogProps {
  readonly change: Change | null;
  readonly onClose: () => void;
}

export function ChangeDialog({ change, onClose }: ChangeDialogProps) {
  const text = useTexts(changesTexts);
  const { language } = useLanguage();
  return (
    <Modal opened={change !== null} onClose={onClose} title={change?.sentence[language] ?? ''} size="xl">
      {change !== null && (
        <Stack>
          <Facts
            facts={[
              [text.when, <Instant key="at" at={change.at} />],
              [text.ended, change.endedAt === null ? '–' : <Instant key="ended" at={change.endedAt} />],
              [text.who, `${change.actor.name} · ${text.kinds[change.actor.kind]}`],
              [text.actorId, change.actor.id],
              [text.localUser, change.actor.localUser],
              [text.session, change.actor.sessionId],
              [text.fromAddress, change.clientAddress],
              [text.action, change.action],
              [text.subject, [change.subject.kind, change.subject.id].filter(Boolean).join(' ')],
              [text.account, [change.accountName, change.accountId].filter(Boolean).join(' · ')],
              [text.request, change.requestId],
              [text.error, change.errorCode],
            ]}
          />
          <Difference before={change.before} after={change.after} />
        </Stack>
      )}
    </Modal>
  );
}

function Difference({ before, after }: Pick<Change, 'before' | 'after'>) {
  const text = useTexts(changesTexts);
  const [isAll, setIsAll] = useState(false);
  const fields = fieldsOf(before, after);
  const isOnBothSides = before !== null && after !== null;
  const shown = isAll || !isOnBothSides ? fields : sharedFieldsOf(before, after).filter(isAltered);
  if (fields.length === 0) return <Text size="sm">{text.noValues}</Text>;
  return (
    <Stack gap="xs">
      <Switch
        label={text.allFields}
        checked={isAll}
        onChange={({ currentTarget }) => setIsAll(currentTarget.checked)}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable */}
      <section style={{ overflowX: 'auto' }} aria-label={text.what} tabIndex={0}>
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{text.field}</Table.Th>
              <Table.Th>{text.before}</Table.Th>
              <Table.Th>{text.after}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((field) => (
              <DifferenceRow key={field.field} field={field} />
            ))}
          </Table.Tbody>
        </Table>
      </section>
      {shown.length === 0 && <Text size="sm">{text.nothingDiffers}</Text>}
    </Stack>
  );
}

function DifferenceRow({ field }: { readonly field: FieldChange }) {
  const { nameOf, shownOf } = useFieldWriter();
  const altered = isAltered(field);
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }} fw={altered ? 600 : 400}>
        {nameOf(field.field)}
      </Table.Td>
      <Table.Td>
        <Value
          text={field.before === undefined ? null : shownOf(field.field, field.before)}
          color={altered ? 'red' : undefined}
        />
      </Table.Td>
      <Table.Td>
        <Value
          text={field.after === undefined ? null : shownOf(field.field, field.after)}
          color={altered ? 'teal' : undefined}
        />
      </Table.Td>
    </Table.Tr>
  );
}

function Value({ text, color }: { readonly text: string | null; readonly color: string | undefined }) {
  if (text === null) return <span>–</span>;
  const style = { overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' } as const;
  return (
    <Code style={color === undefined ? style : { ...style, backgroundColor: `var(--mantine-color-${color}-light)` }}>
      {text}
    </Code>
  );
}
