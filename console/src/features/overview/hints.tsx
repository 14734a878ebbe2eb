import { Alert, Anchor } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { AccountOfMember, AccountOfOwner } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { toNano } from '../../text/yuan.ts';
import { thresholdAbove } from './low-balance.ts';
import { overviewTexts } from './texts.ts';

/** Missing steps before calls can be made, and problems that will stop calls. */
export function Hints({ account }: { readonly account: AccountOfOwner | AccountOfMember }) {
  const text = useTexts(overviewTexts);
  const format = useFormat();
  const keys = useRead('GET /account/v1/keys', { query: { limit: 1, status: 'active' } }).data?.data;
  const hasKey = keys === undefined || keys.length > 0;
  const isOwner = account.role === 'owner';
  const low = useRead('GET /account/v1/low-balance', {}, { isWanted: isOwner }).data;
  const isEmpty = isOwner && toNano(account.balanceYuan) <= 0n;
  const threshold = isOwner && low !== undefined ? thresholdAbove(account.balanceYuan, low) : null;
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
          {text.emptyHint} <Anchor href="#/vouchers">{text.toVouchers}</Anchor>
        </Alert>
      )}
      {threshold !== null && (
        <Alert color="yellow" title={text.low}>
          {text.lowHint(format.yuan(threshold))} <Anchor href="#/vouchers">{text.toVouchers}</Anchor> ·{' '}
          <Anchor href="#/settings">{text.toSettings}</Anchor>
        </Alert>
      )}
      {!hasKey && (
        <Alert color="cyan" title={text.noKey}>
          {text.noKeyHint} <Anchor href="#/keys">{text.apiKeys}</Anchor>
        </Alert>
      )}
    </>
  );
}
