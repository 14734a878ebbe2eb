import { Badge } from '@mantine/core';
import type { InvoiceRequest, OwnInvoiceRequest } from '../../api/types.ts';
import { Instant, Yuan } from '../../parts/figures.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { TwoLines } from '../../parts/two-lines.tsx';
import { useTexts } from '../../text/language.tsx';
import { invoicesTexts } from './texts.ts';

export const STATE_COLORS = { open: 'yellow', issued: 'teal', refused: 'red' } as const;

/** Columns of lists of requests for invoices. `more` come first. */
export function useInvoiceColumns<Item extends InvoiceRequest | OwnInvoiceRequest>(
  more: readonly Column<Item>[],
): Column<Item>[] {
  const text = useTexts(invoicesTexts);
  return [
    ...more,
    {
      header: text.what,
      cell: ({ month, entryIds }) => month ?? text.countOfTopUps(entryIds?.length ?? 0),
    },
    {
      header: text.buyer,
      cell: ({ buyer: { companyName, taxNumber } }) => <TwoLines first={companyName} second={taxNumber ?? ''} />,
    },
    { header: text.amount, isFigure: true, cell: ({ amountYuan }) => <Yuan amount={amountYuan} /> },
    { header: text.requestedAt, cell: ({ requestedAt }) => <Instant at={requestedAt} /> },
    { header: text.state, cell: ({ state }) => <Badge color={STATE_COLORS[state]}>{text.states[state]}</Badge> },
    {
      header: text.answer,
      cell: ({ invoiceNumber, note }) => {
        if (invoiceNumber === null) return note ?? '–';
        return note === null ? invoiceNumber : <TwoLines first={invoiceNumber} second={note} />;
      },
    },
  ];
}
