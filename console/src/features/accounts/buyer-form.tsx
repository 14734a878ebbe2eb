import { SimpleGrid, TextInput } from '@mantine/core';
import type { Buyer } from '../../api/types.ts';
import { ChangeForm } from '../../parts/forms/change-form.tsx';
import { changedMembers } from '../../parts/forms/changed-members.ts';
import { textOrNull } from '../../parts/forms/number-text.ts';
import { useDraft } from '../../parts/forms/use-draft.ts';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { settingsTexts } from './own-texts.ts';

/** The particulars of the buyer on statements, receipts and invoices. Without a company name there are none. */
export function BuyerForm({ buyer }: { readonly buyer: Buyer | null }) {
  const text = useTexts(settingsTexts);
  const stored = {
    companyName: buyer?.companyName ?? '',
    taxNumber: buyer?.taxNumber ?? '',
    address: buyer?.address ?? '',
    email: buyer?.email ?? '',
  };
  const [draft, field] = useDraft(() => stored);
  const { companyName, taxNumber, address, email } = draft;
  const name = companyName.trim();
  const entered =
    name === ''
      ? null
      : {
          companyName: name,
          taxNumber: textOrNull(taxNumber),
          address: textOrNull(address),
          email: textOrNull(email),
        };
  const isChanged = Object.keys(changedMembers(stored, draft)).length > 0;
  return (
    <Section title={text.buyer} lead={text.buyerLead}>
      <ChangeForm
        endpoint="PATCH /account/v1/account"
        input={isChanged ? { body: { buyer: entered } } : null}
        doneText={text.saved}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TextInput
            label={text.companyName}
            required={[taxNumber, address, email].some((value) => value.trim() !== '')}
            maxLength={200}
            autoComplete="organization"
            {...field('companyName')}
          />
          <TextInput label={text.taxNumber} maxLength={200} {...field('taxNumber')} />
          <TextInput label={text.buyerAddress} maxLength={200} {...field('address')} />
          <TextInput label={text.buyerEmail} type="email" maxLength={200} {...field('email')} />
        </SimpleGrid>
      </ChangeForm>
    </Section>
  );
}
