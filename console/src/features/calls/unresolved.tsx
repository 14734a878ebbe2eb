import { useList } from '../../api/queries.ts';
import type { Call } from '../../api/types.ts';
import { useOperationName } from '../../parts/calls/operation-name.ts';
import { CopyText } from '../../parts/copy.tsx';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { AccountLink, CallLink } from '../../parts/links.tsx';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { EmptyState } from '../../parts/notices.tsx';
import { Page, usePageTitle } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { TwoLines } from '../../parts/two-lines.tsx';
import { useMayOperate } from '../../session/may-operate.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { ResolutionButton } from './resolution-dialog.tsx';
import { unresolvedTexts } from './unresolved-texts.ts';

export function UnresolvedPage() {
  const text = useTexts(unresolvedTexts);
  const format = useFormat();
  const operationName = useOperationName();
  const mayOperate = useMayOperate();
  const list = useList('GET /admin/v1/calls', { query: { status: 'unresolved' } }, { isLive: true });
  const columns: Column<Call>[] = [
    { header: text.when, cell: ({ startedAt }) => <Instant at={startedAt} /> },
    {
      header: text.account,
      cell: ({ accountId, accountName }) => <AccountLink accountId={accountId} name={accountName} />,
    },
    {
      header: text.model,
      cell: ({ model, operation, isStream }) => (
        <TwoLines first={model} second={`${operationName(operation)}${isStream ? ' · SSE' : ''}`} />
      ),
    },
    { header: text.route, cell: ({ route }) => <TwoLines first={route.provider} second={route.model} /> },
    {
      header: text.held,
      isFigure: true,
      cell: ({ context, heldYuan, heldTokens }) =>
        context === 'coding' ? (
          text.tokens(heldTokens === null ? '?' : format.count(heldTokens))
        ) : (
          <Yuan amount={heldYuan} />
        ),
    },
    {
      header: text.ids,
      cell: ({ id, requestId }) => (
        <>
          <CallLink callId={id} />
          <div>
            <CopyText value={requestId} />
          </div>
        </>
      ),
    },
  ];
  if (mayOperate) columns.push({ header: text.decide, cell: (call) => <ResolutionButton call={call} isSmall /> });
  return (
    <Page lead={text.lead}>
      <Section>
        <ListTable
          label={usePageTitle()}
          isInPlace
          list={{ ...list, items: list.items.filter((call): call is Call => call.status !== 'in_flight') }}
          columns={columns}
          empty={<EmptyState title={text.empty} hint={text.emptyHint} />}
        />
      </Section>
    </Page>
  );
}
