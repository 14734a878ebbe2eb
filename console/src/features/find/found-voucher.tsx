import { Anchor } from '@mantine/core';
import { Facts } from '../../parts/facts.tsx';
import { Instant, Yuan } from '../../parts/figures.tsx';
import { AccountLink } from '../../parts/links.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { batchesAt } from './found-names.tsx';
import { findTexts } from './texts.ts';
import { useSecretSearch } from './use-secret-search.ts';

export function FoundVoucher({ code }: { readonly code: string }) {
  const text = useTexts(findTexts);
  const { found, isPending, error } = useSecretSearch('POST /admin/v1/vouchers/search', { code });
  if (isPending) return <Loading />;
  if (error !== null) return <ErrorNotice error={error} />;
  if (found === null) {
    return (
      <Section>
        <EmptyState title={text.noVoucher} hint={text.noVoucherHint} />
      </Section>
    );
  }
  const { batch, codeEnd, redemption } = found;
  return (
    <Section title={text.voucherOf(codeEnd)}>
      <Facts
        facts={[
          [
            text.batch,
            <Anchor key="batch" href={batchesAt(batch.id)}>
              {batch.name}
            </Anchor>,
          ],
          [text.gives, batch.amountYuan === null ? batch.planId : <Yuan key="gives" amount={batch.amountYuan} />],
          [text.expires, batch.expiresAt && <Instant key="expires" at={batch.expiresAt} />],
          [text.canceled, batch.canceledAt && <Instant key="canceled" at={batch.canceledAt} />],
          [
            text.redeemedBy,
            redemption === null ? (
              text.notRedeemed
            ) : (
              <>
                <AccountLink accountId={redemption.accountId} name={redemption.accountName} /> · {redemption.redeemedBy}{' '}
                · <Instant at={redemption.redeemedAt} />
              </>
            ),
          ],
        ]}
      />
    </Section>
  );
}
