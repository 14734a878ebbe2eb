import { Badge, Code, Text } from '@mantine/core';
import type { OwnRefusal, Refusal } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { Instant } from '../figures.tsx';
import { GatewayMessage } from '../gateway-message.tsx';
import type { Column } from '../list-table.tsx';
import { SmallText } from '../small.ts';
import { TwoLines } from '../two-lines.tsx';
import { callColumnTexts } from './column-texts.ts';

/** Columns of lists of refusals. `whose` is the account of the key, for operators. */
export function useRefusalColumns<Item extends Refusal | OwnRefusal>(
  ...whose: readonly Column<Item>[]
): Column<Item>[] {
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
    ...whose,
    {
      header: text.key,
      cell: ({ keyId, keyName }) => <span title={keyId ?? undefined}>{keyName ?? keyId ?? '–'}</span>,
    },
    {
      header: text.reason,
      cell: ({ status, code }) => <Badge color="red">{[status, code].filter((part) => part !== null).join(' ')}</Badge>,
    },
    {
      header: text.message,
      cell: ({ message, model }) => (
        <>
          <Text size="sm" miw={{ base: 0, sm: 260 }} maw={420}>
            {message === null ? '–' : <GatewayMessage>{message}</GatewayMessage>}
          </Text>
          {model !== null && <SmallText>{model}</SmallText>}
        </>
      ),
    },
    {
      header: text.request,
      cell: ({ method, path, clientAddress }) => (
        <TwoLines first={[method, path].filter(Boolean).join(' ') || '–'} second={clientAddress} />
      ),
    },
    {
      header: text.requestId,
      // An aggregated count has no request id.
      cell: ({ method, id, clientRequestId }) =>
        method === null ? (
          '–'
        ) : (
          <>
            <Code fz={11}>{id}</Code>
            {clientRequestId !== null && (
              <SmallText style={{ overflowWrap: 'anywhere' }}>{text.ownRequestId(clientRequestId)}</SmallText>
            )}
          </>
        ),
    },
  ];
}
