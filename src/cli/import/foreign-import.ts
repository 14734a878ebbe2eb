import type { KeyResponse } from '../../api/keys/wire.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import { AdminClientError } from '../../api/management/admin-client-error.ts';
import type { AccountResponse } from '../../api/management/wire.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { CliError } from '../command.ts';
import { listAll } from '../pages.ts';
import type { Progress } from '../progress.ts';
import type { ForeignAccount, ForeignBooks, ForeignKey } from './foreign-books.ts';
import { causeOf, importKey } from './repeats.ts';

/**
 * Writes the books of another gateway through the admin API, account by account. Every step is safe to repeat: an account and its money by
 * idempotency keys of what it is called where it comes from, a key by its hash. So an import that was interrupted is run again and
 * goes on, and one that is complete changes nothing. It is no single transaction, because each account is made by a request of its own;
 * nobody calls with what is half there, because keys come last.
 */

/** What became of an account. */
export interface WrittenAccount {
  readonly name: string;
  readonly accountId: string;
  readonly balanceYuan: string;
  readonly keys: number;
}

/** @throws CliError that says how far it came, and that it may be run again. */
export async function writeBooks(
  admin: AdminClient,
  books: ForeignBooks,
  progress: Progress,
): Promise<WrittenAccount[]> {
  const written: WrittenAccount[] = [];
  for (const account of books.accounts) {
    progress.show(`account ${written.length + 1} of ${books.accounts.length}: ${account.name}`);
    try {
      written.push(await writeAccount(admin, books, account));
    } catch (error) {
      if (!(error instanceof AdminClientError)) throw error;
      const before = `${written.length} of ${books.accounts.length} accounts are done; run the command again to go on.`;
      throw new CliError(`${account.name}: ${causeOf(error, IMPORTED_OTHERWISE)}\n${before}`, { cause: error });
    }
  }
  return written;
}

const IMPORTED_OTHERWISE =
  'It was imported before with another name, e-mail address or balance than it has there now. Give it its earlier ones there, and ' +
  'change the account here: faregate account rename, account top-up, account adjust.';

async function writeAccount(
  admin: AdminClient,
  { source }: ForeignBooks,
  account: ForeignAccount,
): Promise<WrittenAccount> {
  const { ref, name, balanceNano, suspendedBecause, keys } = account;
  // Whatever else of it changes there, the account is the same.
  const idempotencyKey = importKey(source, ref);
  const made = await admin.request<AccountResponse>('POST', '/accounts', bodyOfAccount(account), idempotencyKey);
  const accountId = made.id;
  const known = await listAll<KeyResponse>(admin, `/accounts/${accountId}/keys`, {});
  const isNew = known.length < keys.length || keys.length === 0;
  // Before its keys: an operator who has resumed it since is not overruled, because all of them are there by then.
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

/** What the admin API is sent of an account. */
export function bodyOfAccount({ name, email }: ForeignAccount): object {
  return { name, email, verified: true };
}

export function amountOf({ balanceNano }: ForeignAccount): string {
  return formatYuan(balanceNano);
}

/** What the admin API is sent of a key. */
export function bodyOfKey(key: ForeignKey): object {
  const { name, sha256, prefix, isRevoked, expiresAt, allowed } = key;
  return {
    name,
    sha256: sha256.toString('hex'),
    prefix,
    isRevoked,
    expiresAt: expiresAt?.toISOString(),
    allowedModels: allowed.models ?? undefined,
    allowedNetworks: allowed.networks ?? undefined,
    ...limitsOf(key),
  };
}

function limitsOf({ limits, rates }: ForeignKey): object {
  const yuan = (nano: bigint | null | undefined) => (nano == null ? undefined : formatYuan(nano));
  return {
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
