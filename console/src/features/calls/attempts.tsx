import { Alert, Badge, Text } from '@mantine/core';
import type { Call, OwnCall } from '../../api/types.ts';
import { type Column, DataTable } from '../../parts/list-table.tsx';
import { Section } from '../../parts/section.tsx';
import { SmallText } from '../../parts/small.ts';
import { TwoLines } from '../../parts/two-lines.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { attemptTexts } from './attempt-texts.ts';

type Attempt = OwnCall['attempts'][number] | Call['attempts'][number];

/** Why the last attempt failed, in the words of the provider; nothing if it did not fail. */
export function WhyFailed({ call }: { readonly call: OwnCall | Call }) {
  const text = useTexts(attemptTexts);
  const last: Attempt | undefined = call.attempts.at(-1);
  if (last === undefined || last.failure === null) return null;
  return (
    <Alert color="red" title={text.reasons[last.failure]}>
      {last.words === null ? null : (
        <>
          <Text style={{ overflowWrap: 'anywhere' }}>{last.words}</Text>
          {isPrivate(last) && <SmallText>{text.onlyOperators}</SmallText>}
        </>
      )}
    </Alert>
  );
}

/** The attempts of a call; nothing unless one failed. Routes and credentials are shown to operators only. */
export function Attempts({ call }: { readonly call: OwnCall | Call }) {
  const text = useTexts(attemptTexts);
  const format = useFormat();
  const items: readonly Attempt[] = call.attempts;
  if (items.length === 0) return null;
  const columns: readonly (Column<Attempt> | null)[] = [
    { header: text.no, cell: ({ no }) => no },
    'route' in call
      ? {
          header: text.route,
          cell: (attempt) => 'provider' in attempt && <TwoLines first={attempt.provider} second={attempt.model} />,
        }
      : null,
    'route' in call
      ? { header: text.credential, cell: (attempt) => ('credential' in attempt && attempt.credential) || '–' }
      : null,
    {
      header: text.result,
      cell: ({ failure, httpStatus }) => (
        <Badge color={failure === null ? 'teal' : 'red'}>
          {[failure === null ? text.answered : text.failures[failure], httpStatus].filter(Boolean).join(' ')}
        </Badge>
      ),
    },
    {
      header: text.words,
      cell: (attempt) => (
        <>
          <Text size="sm" maw={420} style={{ overflowWrap: 'anywhere' }}>
            {attempt.words ?? '–'}
          </Text>
          {isPrivate(attempt) && <SmallText>{text.onlyOperators}</SmallText>}
          {'isLost' in attempt && attempt.isLost && (
            <SmallText>
              {attempt.costAtMostYuan === null ? text.lost : text.lostAtCost(format.yuan(attempt.costAtMostYuan))}
            </SmallText>
          )}
        </>
      ),
    },
    { header: text.duration, isFigure: true, cell: ({ durationMs }) => format.duration(durationMs) },
  ];
  return (
    <Section title={text.attempts}>
      <DataTable
        label={text.attempts}
        items={items}
        columns={columns.filter((column) => column !== null)}
        idOf={({ no }) => String(no)}
      />
    </Section>
  );
}

const isPrivate = (attempt: Attempt): boolean => 'isPrivate' in attempt && attempt.isPrivate && attempt.words !== null;
