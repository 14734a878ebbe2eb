import { Alert } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { AccountOfMember, AccountOfOwner } from '../../api/types.ts';
import { PlaceLink } from '../../layout/location.tsx';
import { useTexts } from '../../text/language.tsx';
import { toNano } from '../../text/yuan.ts';
import { overviewTexts } from './texts.ts';

/** What has to be done before calls can be made. Nothing where nothing has. */
export function Hints({ account }: { readonly account: AccountOfOwner | AccountOfMember }) {
  const text = useTexts(overviewTexts);
  const keys = useRead('GET /account/v1/keys', { query: { limit: 1, status: 'active' } }).data?.data;
  const hasKey = keys === undefined || keys.length > 0;
  const isEmpty = account.role === 'owner' && toNano(account.balanceYuan) <= 0n;
  return (
    <>
      {account.status === 'suspended' && (
        <Alert color="red" title={text.suspended}>
          {text.suspendedHint}
        </Alert>
      )}
      {!account.verified && (
        <Alert color="orange" title={text.unverified}>
          {text.unverifiedHint}
        </Alert>
      )}
      {isEmpty && (
        <Alert color="orange" title={text.empty}>
          {text.emptyHint} <PlaceLink to="/vouchers">{text.toVouchers}</PlaceLink>
        </Alert>
      )}
      {!hasKey && (
        <Alert color="cyan" title={text.noKey}>
          {text.noKeyHint} <PlaceLink to="/keys">{text.toKeys}</PlaceLink>
        </Alert>
      )}
    </>
  );
}
