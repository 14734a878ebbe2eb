import type { LedgerEntry, OwnLedgerEntry } from '../../api/types.ts';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { CallLink } from '../../parts/links.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { useTexts } from '../../text/language.tsx';
import { ledgerKindTexts } from './ledger-kinds.ts';
import { ledgerTexts } from './texts.ts';

/** Columns of ledger lists. `more` come before the amounts. */
export function useEntryColumns<Item extends LedgerEntry | OwnLedgerEntry>(
  storiesAt: string,
  more: readonly Column<Item>[],
): Column<Item>[] {
  const text = useTexts(ledgerTexts);
  const kinds = useTexts(ledgerKindTexts);
  return [
    { header: text.when, cell: ({ createdAt }) => <Instant at={createdAt} /> },
    { header: text.kind, cell: ({ kind }) => kinds[kind] },
    {
      header: text.callOrReference,
      cell: ({ callId, reference }) =>
        callId === null ? (reference ?? '–') : <CallLink callId={callId} storiesAt={storiesAt} />,
    },
    ...more,
    { header: text.amount, isFigure: true, cell: ({ amountYuan }) => <Yuan amount={amountYuan} /> },
    { header: text.balanceAfter, isFigure: true, cell: ({ balanceAfterYuan }) => <Yuan amount={balanceAfterYuan} /> },
  ];
}
