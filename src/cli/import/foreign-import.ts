import type { KeyResponse } from '../../api/keys/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { AccountResponse } from '../../api/management/wire.ts';
import { formatYuan } from '../../lib/yuan.ts';
import type { CliProcess } from '../command.ts';
import { listAll } from '../pages.ts';
import type { ForeignAccount, ForeignBooks, ForeignKey } from './foreign-books.ts';
import { importEach, importKey } from './repeats.ts';

export interface WrittenAccount {
  readonly name: string;
  readonly accountId: string;
  readonly balanceYuan: string;
  readonly keys: number;
}

/**
 * Writes the accounts of another gateway by the admin API. Each request can be repeated: accounts and balances have idempotency keys from
 * the account's reference, and API keys have their hash. Keys are written last, so that no call uses an account that is only partly
 * imported.
 *
 * @throws CliError with the number of complete accounts
 */
export function writeBooks(admin: AdminClient, books: ForeignBooks, process: CliProcess): Promise<WrittenAccount[]> {
  const options = { noun: 'account', process, otherwise: IMPORTED_OTHERWISE };
  return importEach(books.accounts, options, (account) => writeAccount(admin, books, account));
}

const IMPORTED_OTHERWISE =
  'The account was imported before, and its name, e-mail address or balance has changed in the other gateway since then. Restore ' +
  'the earlier values there, and change the account in Faregate: faregate account rename, account top-up, account adjust.';

async function writeAccount(
  admin: AdminClient,
  { source }: ForeignBooks,
  account: ForeignAccount,
): Promise<WrittenAccount> {
  const { ref, name, balanceNano, suspendedBecause, keys } = account;
  const idempotencyKey = importKey(source, ref);
  const made = await admin.request<AccountResponse>('POST', '/accounts', bodyOfAccount(account), idempotencyKey);
  const accountId = made.id;
  const known = await listAll<KeyResponse>(admin, `/accounts/${accountId}/keys`, {});
  const isNew = known.length < keys.length || keys.length === 0;
  // If an earlier run imported all keys, the account is not suspended again: an operator may have resumed the account since.
  if (suspendedBecause !== null && isNew && made.status === 'active') {
    await admin.request('PATCH', `/accounts/${accountId}`, { status: 'suspended', statusReason: suspendedBecause });
  }
  if (balanceNano !== 0n) {
    const path = `/accounts/${accountId}/${balanceNano > 0n ? 'top-ups' : 'adjustments'}`;
    const entry = { amountYuan: amountOf(account), memo: `moved from ${source}, where it was ${ref}` };
    await admin.request('POST', path, entry, `${idempotencyKey}-balance`);
  }
  for (const key of keys) await admin.request('POST', `/accounts/${accountId}/imported-keys`, bodyOfKey(key));
  return { name, accountId, balanceYuan: amountOf(account), keys: keys.length };
}

export const bodyOfAccount = ({ name, email }: ForeignAccount): object => ({ name, email, verified: true });

export const amountOf = ({ balanceNano }: ForeignAccount): string => formatYuan(balanceNano);

export function bodyOfKey(key: ForeignKey): object {
  const { name, sha256, prefix, isRevoked, expiresAt, allowed, limits, rates } = key;
  const yuan = (nano: bigint | null | undefined) => (nano == null ? undefined : formatYuan(nano));
  return {
    name,
    sha256: sha256.toString('hex'),
    prefix,
    isRevoked,
    expiresAt: expiresAt?.toISOString(),
    allowedModels: allowed.models ?? undefined,
    allowedNetworks: allowed.networks ?? undefined,
    dailySpendCapYuan: yuan(limits.dailySpendCapNano),
    weeklySpendCapYuan: yuan(limits.weeklySpendCapNano),
    monthlySpendCapYuan: yuan(limits.monthlySpendCapNano),
    totalSpendCapYuan: yuan(limits.totalSpendCapNano),
    dailyCalls: limits.dailyCallsMax ?? undefined,
    concurrency: limits.concurrencyMax ?? undefined,
    requestsPerMinute: rates?.requestsMax ?? undefined,
    tokensPerMinute: rates?.tokensMax ?? undefined,
  };
}
