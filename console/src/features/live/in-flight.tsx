import { Code } from '@mantine/core';
import type { CallInFlight } from '../../api/types.ts';
import { useNowMs, Yuan } from '../../parts/figures.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { ListTable, type ReadList } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { TwoLines } from '../../parts/two-lines.tsx';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { liveTexts } from './texts.ts';

export function InFlight({ list }: { readonly list: ReadList<CallInFlight> }) {
  const text = useTexts(liveTexts);
  const format = useFormat();
  return (
    <Section title={text.inFlight}>
      <ListTable
        label={text.inFlight}
        list={list}
        empty={<EmptyState title={text.inFlightEmpty} hint={text.inFlightEmptyHint} />}
        columns={[
          { header: text.since, isFigure: true, cell: ({ reservedAt }) => <Elapsed since={reservedAt} /> },
          {
            header: text.account,
            cell: ({ accountId, accountName }) => <AccountLink accountId={accountId} name={accountName} />,
          },
          { header: text.key, cell: ({ keyName, keyId }) => <span title={keyId}>{keyName ?? keyId}</span> },
          {
            header: text.model,
            cell: ({ model, operation, isStream }) => (
              <TwoLines first={model} second={[operation, isStream ? text.stream : null].filter(Boolean).join(' · ')} />
            ),
          },
          { header: text.route, cell: ({ route }) => route.provider ?? '–' },
          {
            header: text.held,
            isFigure: true,
            cell: ({ heldYuan, heldTokens }) =>
              heldYuan === null && heldTokens !== null ? (
                text.tokens(format.count(heldTokens))
              ) : (
                <Yuan amount={heldYuan} isShort />
              ),
          },
          { header: text.node, cell: ({ nodeId }) => <Code title={nodeId}>…{nodeId.slice(-6)}</Code> },
          { header: text.call, cell: ({ id }) => <Code title={id}>…{id.slice(-8)}</Code> },
        ]}
      />
    </Section>
  );
}

function Elapsed({ since }: { readonly since: string }) {
  const format = useFormat();
  const nowMs = useNowMs(1000);
  // The clocks of the browser and the database may differ.
  return format.duration(Math.max(0, nowMs - Date.parse(since)));
}
