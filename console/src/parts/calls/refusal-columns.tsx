import { Badge, Code, Text } from '@mantine/core';
import type { OwnRefusal, Refusal } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { Instant } from '../figures.tsx';
import type { Column } from '../list-table.tsx';
import { callColumnTexts } from './column-texts.ts';

/** The columns of lists of refusals; `whose`: the key or the account that was refused. */
export function useRefusalColumns<Item extends Refusal | OwnRefusal>(whose: Column<Item>): Column<Item>[] {
  const text = useTexts(callColumnTexts);
  return [
    {
      header: text.when,
      cell: ({ at, count }) => (
        <>
          <Instant at={at} />
          {count > 1 && <Text size="xs">{text.times(count)}</Text>}
        </>
      ),
    },
    whose,
    {
      header: text.reason,
      cell: ({ status, code }) => (
        <Badge variant="light" color="red" autoContrast tt="none">
          {[status, code].filter((part) => part !== null).join(' ')}
        </Badge>
      ),
    },
    {
      header: text.message,
      cell: ({ message, model }) => (
        <>
          <Text size="sm" maw={420}>
            {message ?? '–'}
          </Text>
          {model !== null && (
            <Text size="xs" c="dimmed">
              {model}
            </Text>
          )}
        </>
      ),
    },
    {
      header: text.address,
      cell: ({ method, path, clientAddress, id, clientRequestId }) => (
        <>
          <Text size="sm">{[method, path].filter(Boolean).join(' ') || '–'}</Text>
          <Text size="xs" c="dimmed">
            {clientAddress}
          </Text>
          <Code title={clientRequestId ?? undefined} fz={11}>
            {id}
          </Code>
        </>
      ),
    },
  ];
}
