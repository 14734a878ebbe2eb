import { ALLOWED_MAX, type AllowLists, NO_ALLOW_LISTS } from '../../../accounting/accounts/allow-lists.ts';
import { formatAddressRange, parseAddressRange } from '../../../lib/ip-address.ts';
import type { ForeignDatabase } from '../foreign-books.ts';
import { isDeleted, type Program } from './versions.ts';

export async function readTokens(program: Program, database: ForeignDatabase) {
  const lists =
    program === 'one-api'
      ? `nullif(models, '') as models, subnet as networks`
      : `case when model_limits_enabled then model_limits end as models, allow_ips as networks`;
  const rows =
    await database.select(`select cast(id as text) as id, cast(user_id as text) as user_id, name, trim("key") as secret,
  cast(status as text) as status, cast(expired_time as text) as expired_time, cast(remain_quota as text) as remain_quota,
  case when unlimited_quota then 'yes' end as unlimited, ${lists}
from tokens where not (${isDeleted(program, 'tokens')}) order by tokens.id`);
  return rows.map((row) => ({
    id: row.id!,
    userId: row.user_id!,
    name: row.name ?? '',
    /** The key without the prefix `sk-`. */
    key: row.secret!,
    status: row.status!,
    /** When the token expires, in seconds since 1970; `-1`: never. */
    expiredTime: row.expired_time!,
    remainQuota: row.remain_quota ?? '0',
    isUnlimited: row.unlimited !== null,
    /** Allowed models, separated by commas; `null`: all. */
    models: row.models ?? null,
    networks: row.networks ?? '',
  }));
}

export type TokenRow = Awaited<ReturnType<typeof readTokens>>[number];

const ENABLED = '1';
const EXPIRED = '3';
const EXHAUSTED = '4';
const NEVER = '-1';

export interface TokenTerms {
  /** Why the token can never be used again; `null`: it can. */
  readonly endedBy: string | null;
  readonly expiresAt: Date | null;
  /** Remaining quota in units; `null`: without a limit. */
  readonly remainingUnits: bigint | null;
  readonly allowed: AllowLists;
}

/** Reads the permissions of a token in the same way as these programs. */
export function termsOf(program: Program, token: TokenRow, at: Date): TokenTerms {
  const expiresAt = token.expiredTime === NEVER ? null : new Date(Number(token.expiredTime) * 1_000);
  const lists = readLists(program, token);
  return {
    endedBy: endOf(token, expiresAt !== null && expiresAt <= at) ?? lists.unreadable,
    expiresAt,
    remainingUnits: remainingOf(token),
    allowed: lists.allowed,
  };
}

function endOf({ status }: TokenRow, hasExpired: boolean): string | null {
  if (status === ENABLED || status === EXHAUSTED || (status === EXPIRED && hasExpired)) return null;
  return 'disabled';
}

/** Returns the remaining quota. A token marked as exhausted is refused until its quota is raised, whatever `remain_quota` says. */
function remainingOf({ status, isUnlimited, remainQuota }: TokenRow): bigint | null {
  if (status === EXHAUSTED) return 0n;
  if (isUnlimited) return null;
  const units = BigInt(remainQuota);
  return units < 0n ? 0n : units;
}

function readLists(program: Program, token: TokenRow): { allowed: AllowLists; unreadable: string | null } {
  const models = token.models === null ? null : partsOf(token.models, ',');
  const ranges = partsOf(token.networks, program === 'one-api' ? ',' : '\n').map((text) =>
    parseAddressRange(text.replaceAll(',', '')),
  );
  const networks = ranges.flatMap((range) => (range === null ? [] : formatAddressRange(range)));
  const allowed = {
    models: models && [...new Set(models)],
    networks: ranges.length === 0 ? null : [...new Set(networks)],
  };
  for (const [what, list] of [
    ['models', allowed.models],
    ['networks', allowed.networks],
  ] as const) {
    // An empty or a long list cannot be imported. Without its list, the key would have more permissions than before.
    if (list?.length === 0) return { allowed: NO_ALLOW_LISTS, unreadable: `their list of ${what} cannot be read` };
    if (list !== null && list.length > ALLOWED_MAX) {
      return { allowed: NO_ALLOW_LISTS, unreadable: `their list of ${what} has more than ${ALLOWED_MAX} entries` };
    }
  }
  return { allowed, unreadable: null };
}

const partsOf = (text: string, separator: string): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
