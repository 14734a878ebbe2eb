import { Anchor } from '@mantine/core';
import { hashOf } from '../../parts/location.ts';
import { useTexts } from '../../text/language.tsx';
import { paperTexts } from './paper-texts.ts';

/** Links a top-up to its receipt. */
export function ReceiptLink({ id, receiptsAt }: { readonly id: string; readonly receiptsAt: string }) {
  const text = useTexts(paperTexts);
  return (
    <Anchor size="sm" href={hashOf(`${receiptsAt}/${id}`)} aria-label={text.receiptOf(id)}>
      {text.receipt}
    </Anchor>
  );
}
