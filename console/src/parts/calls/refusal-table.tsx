import { Badge, Code, Text } from '@mantine/core';
import type { Refusal } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { Instant } from '../figures.tsx';
import { AccountLink } from '../links.tsx';
import { type Column, DataTable } from '../list-table.tsx';
import { callColumnTexts } from './column-texts.ts';

/** The columns of lists of refusals. */
export function useRefusalColumns(): Column<Refusal>[] {
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
    {
      header: text.account,
      cell: ({ accountId, accountName }) =>
        accountId === null ? text.unknownCaller : <AccountLink accountId={accountId} name={accountName ?? accountId} />,
    },
    {
      header: text.code,
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

/** Some refusals, all of which have been read. */
export function RefusalTable({ refusals, label }: { readonly refusals: readonly Refusal[]; readonly label: string }) {
  const columns = useRefusalColumns();
  return <DataTable label={label} items={refusals} idOf={({ id }) => id} columns={columns} />;
}
