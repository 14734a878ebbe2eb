import { Anchor, Group, Text } from '@mantine/core';
import type { Call, CallInFlight, OwnCall, OwnCallInFlight } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { Instant, Yuan } from '../figures.tsx';
import type { Column } from '../list-table.tsx';
import { hashOf } from '../location.ts';
import { SmallText } from '../small.ts';
import { commonTexts } from '../texts.ts';
import { inputTokensOf, outputTokensOf } from '../usage/usage-sums.ts';
import { callColumnTexts } from './column-texts.ts';
import { useOperationName } from './operation-name.ts';
import { StatusBadge } from './status-badge.tsx';

export type AnyCall = Call | CallInFlight | OwnCall | OwnCallInFlight;

interface CallColumnsOptions<Item> {
  /** The column of the call's owner: a key of the account, or the account. */
  readonly whose: Column<Item>;
  /** Path of the call page, to which the start time links. */
  readonly storiesAt: string;
  /** Shows the end of the call id, which is the distinctive part. */
  readonly hasIds?: boolean;
}

export function useCallColumns<Item extends AnyCall>(options: CallColumnsOptions<Item>): Column<Item>[] {
  const { whose, storiesAt, hasIds = false } = options;
  const text = useTexts(callColumnTexts);
  const format = useFormat();
  const operationName = useOperationName();
  const tokensOf = (call: Item, count: (usage: object) => number): string =>
    call.status === 'in_flight' || call.usage === null ? '–' : format.count(count(call.usage));
  return [
    {
      header: text.when,
      cell: (call) => (
        <>
          <Began call={call} storiesAt={storiesAt} />
          {hasIds && (
            <SmallText ff="monospace" title={call.id}>
              …{call.id.slice(-8)}
            </SmallText>
          )}
        </>
      ),
    },
    whose,
    {
      header: text.model,
      cell: (call) => (
        <>
          <Text size="sm">{call.model}</Text>
          <SmallText style={{ whiteSpace: 'nowrap' }}>
            {['route' in call ? call.route.provider : null, call.operation && operationName(call.operation)]
              .filter(Boolean)
              .join(' · ')}
          </SmallText>
        </>
      ),
    },
    {
      header: text.status,
      cell: (call) => (
        <Group gap={4}>
          <StatusBadge status={call.status} />
          {call.status !== 'in_flight' && call.errorCode !== null && <Text size="xs">{call.errorCode}</Text>}
        </Group>
      ),
    },
    { header: text.input, isFigure: true, cell: (call) => tokensOf(call, inputTokensOf) },
    { header: text.output, isFigure: true, cell: (call) => tokensOf(call, outputTokensOf) },
    { header: text.charge, isFigure: true, cell: (call) => <CallCharge call={call} /> },
    {
      header: text.duration,
      isFigure: true,
      cell: (call) => (call.status === 'in_flight' ? '–' : format.duration(call.durationMs)),
    },
  ];
}

function Began({ call, storiesAt }: { readonly call: AnyCall; readonly storiesAt: string }) {
  const at = <Instant at={call.status === 'in_flight' ? (call.startedAt ?? call.reservedAt) : call.startedAt} />;
  // Calls in flight have no record yet.
  if (call.status === 'in_flight') return at;
  return <Anchor href={hashOf(`${storiesAt}/${call.id}`)}>{at}</Anchor>;
}

/** The charge of a call with its refunds; for a call in flight, the reserved amount. */
export function CallCharge({ call }: { readonly call: AnyCall }) {
  const text = useTexts(callColumnTexts);
  const { coding } = useTexts(commonTexts);
  const format = useFormat();
  if (call.context === 'coding') return coding;
  if (call.status === 'in_flight') {
    return call.heldYuan === null ? '–' : <span>{text.held(format.yuan(call.heldYuan))}</span>;
  }
  // Not charged, and the reservation is released, until an operator resolves the call.
  if (call.status === 'unresolved') return '–';
  const isRefunded = call.refundedYuan !== null && /[1-9]/.test(call.refundedYuan);
  return (
    <>
      <Yuan amount={call.chargeYuan} isShort />
      {isRefunded && <SmallText>{text.refunded(format.yuan(call.refundedYuan!))}</SmallText>}
    </>
  );
}
