import { Badge, Group, Text } from '@mantine/core';
import type { Call, CallInFlight } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { Instant, Yuan } from '../figures.tsx';
import { AccountLink, CallLink } from '../links.tsx';
import { type Column, DataTable } from '../list-table.tsx';
import { inputTokensOf, outputTokensOf } from '../usage/usage-sums.ts';
import { callColumnTexts } from './column-texts.ts';
import { StatusBadge } from './status-badge.tsx';

type AnyCall = Call | CallInFlight;

/** The columns of lists of calls of all accounts. */
export function useCallColumns(): Column<AnyCall>[] {
  const text = useTexts(callColumnTexts);
  const format = useFormat();
  return [
    {
      header: text.when,
      cell: (call) => <Instant at={call.startedAt} />,
    },
    {
      header: text.account,
      cell: (call) => <AccountLink accountId={call.accountId} name={call.accountName} />,
    },
    {
      header: text.model,
      cell: (call) => (
        <>
          <Text size="sm">{call.model}</Text>
          <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
            {[call.route.provider, call.operation].filter(Boolean).join(' · ')}
          </Text>
        </>
      ),
    },
    {
      header: text.status,
      cell: (call) => (
        <Group gap={4}>
          <StatusBadge status={call.status} />
          {call.context === 'coding' && (
            <Badge variant="outline" color="gray" size="sm" autoContrast>
              {text.plan}
            </Badge>
          )}
          {call.status !== 'in_flight' && call.errorCode !== null && <Text size="xs">{call.errorCode}</Text>}
        </Group>
      ),
    },
    {
      header: text.tokens,
      isFigure: true,
      cell: (call) =>
        call.status === 'in_flight' || call.usage === null
          ? '–'
          : `${format.count(inputTokensOf(call.usage))} / ${format.count(outputTokensOf(call.usage))}`,
    },
    { header: text.charge, isFigure: true, cell: (call) => <Charge call={call} /> },
    {
      header: text.duration,
      isFigure: true,
      cell: (call) => (call.status === 'in_flight' ? '–' : format.duration(call.durationMs)),
    },
    { header: text.call, cell: ({ id }) => <CallLink callId={id} /> },
  ];
}

function Charge({ call }: { readonly call: AnyCall }) {
  const text = useTexts(callColumnTexts);
  const format = useFormat();
  if (call.status === 'in_flight') {
    return call.heldYuan === null ? '–' : <span>{text.held(format.yuan(call.heldYuan, true))}</span>;
  }
  // Nothing is charged for it, and what was reserved is free again, until somebody decides.
  if (call.status === 'unresolved') return '–';
  const isRefunded = call.refundedYuan !== null && /[1-9]/.test(call.refundedYuan);
  return (
    <>
      <Yuan amount={call.chargeYuan} isShort />
      {isRefunded && (
        <Text size="xs" c="dimmed">
          {text.refunded(format.yuan(call.refundedYuan!, true))}
        </Text>
      )}
    </>
  );
}

/** Some calls, all of which have been read. */
export function CallTable({ calls, label }: { readonly calls: readonly AnyCall[]; readonly label: string }) {
  const columns = useCallColumns();
  return <DataTable label={label} items={calls} idOf={({ id }) => id} columns={columns} />;
}
