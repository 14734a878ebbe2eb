import { Text, TextInput } from '@mantine/core';
import type { InvoiceRequest } from '../../api/types.ts';
import { CopyText } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Yuan } from '../../parts/figures.tsx';
import { ChangeDialog } from '../../parts/forms/change-dialog.tsx';
import { textOrNull } from '../../parts/forms/number-text.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { useTexts } from '../../text/language.tsx';
import { invoicesTexts } from './texts.ts';

export interface Closing {
  readonly request: InvoiceRequest;
  readonly state: 'issued' | 'refused';
}

interface CloseDialogProps {
  readonly closing: Closing | null;
  readonly onClose: () => void;
}

/** Closes a request with the number of the invoice, or refuses it. Shows what the invoice must contain, to copy. */
export function CloseDialog({ closing, onClose }: CloseDialogProps) {
  const text = useTexts(invoicesTexts);
  const [{ invoiceNumber, note }, field] = useDraft(() => ({ invoiceNumber: '', note: '' }), closing !== null);
  if (closing === null) return null;
  const { request, state } = closing;
  const path = { id: request.id };
  const dialog = { isOpen: true, onClose };
  const { companyName, taxNumber, address, email } = request.buyer;
  const facts = (
    <Facts
      facts={[
        [text.buyer, <CopyText key="name" value={companyName} />],
        [text.taxNumber, taxNumber && <CopyText key="tax" value={taxNumber} />],
        [text.address, address && <CopyText key="address" value={address} />],
        [text.email, email && <CopyText key="email" value={email} />],
        [text.what, request.month ?? request.entryIds?.join(', ')],
        [text.amount, <Yuan key="amount" amount={request.amountYuan} />],
      ]}
    />
  );
  if (state === 'refused') {
    return (
      <ChangeDialog
        endpoint="POST /admin/v1/invoice-requests/{id}/refuse"
        title={text.refuseTitle(companyName)}
        submitLabel={text.refuse}
        isDangerous
        {...dialog}
        input={() => ({ path, body: { note } })}
        doneText={text.refused}
      >
        <Text size="sm">{text.refuseHint}</Text>
        {facts}
        <TextInput label={text.reason} required maxLength={200} data-autofocus {...field('note')} />
      </ChangeDialog>
    );
  }
  return (
    <ChangeDialog
      endpoint="POST /admin/v1/invoice-requests/{id}/issue"
      title={text.issueTitle(companyName)}
      submitLabel={text.issue}
      {...dialog}
      input={() => ({ path, body: { invoiceNumber, note: textOrNull(note) } })}
      doneText={text.issued}
    >
      <Text size="sm">{text.issueHint}</Text>
      {facts}
      <TextInput label={text.invoiceNumber} required maxLength={200} data-autofocus {...field('invoiceNumber')} />
      <TextInput label={text.note} description={text.optional} maxLength={200} {...field('note')} />
    </ChangeDialog>
  );
}
