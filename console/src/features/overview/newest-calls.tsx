import { Anchor } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { OwnCall, OwnCallInFlight } from '../../api/types.ts';
import { CallCharge } from '../../parts/calls/call-columns.tsx';
import { StatusBadge } from '../../parts/calls/status-badge.tsx';
import { Instant } from '../../parts/figures.tsx';
import { DataTable } from '../../parts/list-table.tsx';
import { hashOf } from '../../parts/location.ts';
import { EmptyState, ReadState } from '../../parts/notices.tsx';
import { useTexts } from '../../text/language.tsx';
import { overviewTexts } from './texts.ts';

const SHOWN = 6;

export function NewestCalls() {
  const text = useTexts(overviewTexts);
  const calls = useRead('GET /account/v1/calls', { query: { limit: SHOWN } }, { isLive: true });
  if (calls.data === undefined) return <ReadState read={calls} />;
  const all: readonly (OwnCall | OwnCallInFlight)[] = calls.data.data;
  const ended = all.filter((call): call is OwnCall => call.status !== 'in_flight');
  if (ended.length === 0) {
    return (
      <EmptyState
        title={text.noCalls}
        hint={text.noCallsHint}
        action={<Anchor href="#/quickstart">{text.quickstart}</Anchor>}
      />
    );
  }
  return (
    <DataTable
      label={text.newest}
      items={ended}
      columns={[
        {
          header: text.when,
          cell: ({ id, startedAt }) => (
            <Anchor href={hashOf(`/calls/${id}`)}>
              <Instant at={startedAt} isRelative />
            </Anchor>
          ),
        },
        { header: text.model, cell: ({ model }) => model },
        { header: text.status, cell: ({ status }) => <StatusBadge status={status} /> },
        { header: text.charge, cell: (call) => <CallCharge call={call} />, isFigure: true },
      ]}
    />
  );
}
