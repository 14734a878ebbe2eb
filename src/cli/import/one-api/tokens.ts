import { ALLOWED_MAX, type AllowLists, NO_ALLOW_LISTS } from '../../../accounting/accounts/allow-lists.ts';
import { formatAddressRange, parseAddressRange } from '../../../lib/ip-address.ts';
import type { Program } from './versions.ts';

/** A row of `tokens`; every column is text. */
export interface TokenRow {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** The key without its prefix `sk-`. */
  readonly key: string;
  readonly status: string;
  /** Seconds since 1970, `-1` for never. */
  readonly expiredTime: string;
  readonly remainQuota: string;
  readonly isUnlimited: boolean;
  /** Allowed models, between commas; `null`: all. */
  readonly models: string | null;
  readonly networks: string;
}

const ENABLED = '1';
const EXPIRED = '3';
const EXHAUSTED = '4';
const NEVER = '-1';

export interface TokenTerms {
  /** Why the token can never be used again; `null` if it can. */
  readonly endedBy: string | null;
  readonly expiresAt: Date | null;
  /** Remaining quota, in units; `null` if it is not limited. */
  readonly remainingUnits: bigint | null;
  readonly allowed: AllowLists;
}

/** Interprets the permissions of a token in the same way as these programs. */
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

/** A token marked as exhausted is refused until its quota is raised, whatever `remain_quota` is. */
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
    // An empty or long list cannot be imported, and without its list the key would have more permissions than before.
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
