import { type Decimal, parseDecimal, roundedQuotient } from '../../../lib/decimal.ts';
import { hashSecretText, shownPrefix } from '../../../lib/secret-text.ts';
import { NANO_PER_YUAN } from '../../../lib/yuan.ts';
import { CliError } from '../../command.ts';
import type { ForeignAccount, ForeignBooks, ForeignDatabase, ForeignKey, LeftOut } from '../foreign-books.ts';
import { readLeftOut } from './left-out.ts';
import { readTokens, type TokenRow, type TokenTerms, termsOf } from './tokens.ts';
import { isDeleted, type Program, readColumns, versionOf } from './versions.ts';

/** Units of quota per dollar if the database has no option `QuotaPerUnit`. This is the default of one-api and new-api. */
const UNITS_PER_DOLLAR = '500000';
/** Prefix that clients put before the value of `tokens.key`. */
const KEY_PREFIX = 'sk-';
const ROLE_OF_ROOT = '100';
const USER_ENABLED = '1';

interface Reading {
  readonly program: Program;
  readonly database: ForeignDatabase;
  /** Price of a dollar in yuan. */
  readonly usdCny: Decimal;
  readonly at: Date;
}

/**
 * Reads a database of one-api, or of new-api, a fork of it. A user becomes an account, a token becomes a key.
 *
 * @throws CliError if it is not a database of a tested version
 */
export async function readBooks({ program, database, usdCny, at }: Reading): Promise<ForeignBooks> {
  const version = versionOf(program, await readColumns(database));
  const unitsPerDollar = await readUnitsPerDollar(database);
  const toNano = (units: bigint): bigint => unitsToNano(units, unitsPerDollar, usdCny);
  const users = await readUsers(program, database);
  const tokens = Map.groupBy(await readTokens(program, database), ({ userId }) => userId);
  const ended: TokenTerms[] = [];
  const accounts = users.map((user): ForeignAccount => {
    const keys = (tokens.get(user.id) ?? []).map((token) => {
      const terms = termsOf(program, token, at);
      if (terms.endedBy !== null) ended.push(terms);
      return toKey(token, terms, toNano);
    });
    return {
      ref: user.id,
      name: user.name,
      email: user.email,
      balanceNano: user.isRoot ? 0n : toNano(user.quota),
      suspendedBecause: user.isEnabled ? null : `disabled in ${program}`,
      keys,
    };
  });
  const root = users.filter(({ isRoot, quota }) => isRoot && quota !== 0n);
  return {
    source: program,
    version,
    accounts,
    leftOut: [...rootBalances(root), ...endedKeys(ended), ...(await readLeftOut(program, database))],
  };
}

function toKey(token: TokenRow, terms: TokenTerms, toNano: (units: bigint) => bigint): ForeignKey {
  const sent = KEY_PREFIX + token.key;
  return {
    ref: token.id,
    name: token.name === '' ? `token ${token.id}` : token.name,
    sha256: hashSecretText(sent),
    prefix: shownPrefix(KEY_PREFIX, sent),
    isRevoked: terms.endedBy !== null,
    expiresAt: terms.expiresAt,
    limits: terms.remainingUnits === null ? {} : { totalSpendCapNano: toNano(terms.remainingUnits) },
    allowed: terms.allowed,
  };
}

/** Converts units of quota to nano-yuan, rounded to the nearest, halves away from zero. */
export function unitsToNano(units: bigint, unitsPerDollar: Decimal, usdCny: Decimal): bigint {
  const above = units * usdCny.digits * NANO_PER_YUAN * 10n ** BigInt(unitsPerDollar.scale);
  return roundedQuotient(above, unitsPerDollar.digits * 10n ** BigInt(usdCny.scale));
}

async function readUnitsPerDollar(database: ForeignDatabase): Promise<Decimal> {
  const [row] = await database.select(`select value from options where key = 'QuotaPerUnit'`);
  const text = row?.value ?? UNITS_PER_DOLLAR;
  const read = parseDecimal(text);
  if (read === null) {
    throw new CliError(`The option QuotaPerUnit is ${JSON.stringify(text)}; expected a number of units per dollar.`);
  }
  return read;
}

async function readUsers(program: Program, database: ForeignDatabase) {
  const rows = await database.select(`select cast(id as text) as id, username, email, cast(role as text) as role,
  cast(status as text) as status, cast(quota as text) as quota
from users where not (${isDeleted(program, 'users')}) order by users.id`);
  return rows.map((row) => ({
    id: row.id!,
    name: row.username!,
    email: row.email || null,
    isRoot: row.role === ROLE_OF_ROOT,
    isEnabled: row.status === USER_ENABLED,
    quota: BigInt(row.quota ?? 0),
  }));
}

/** Lists balances of root users, because the programs give root a quota when they are installed. */
function rootBalances(roots: readonly { readonly name: string; readonly quota: bigint }[]): LeftOut[] {
  return roots.map(({ name, quota }) => ({
    what: `balance of ${name}, ${quota} units`,
    why: 'the program grants it to its first user; nobody paid for it',
    count: 1,
  }));
}

function endedKeys(ended: readonly TokenTerms[]): LeftOut[] {
  return [...Map.groupBy(ended, ({ endedBy }) => endedBy!)].map(([why, keys]) => ({
    what: 'keys that are imported as revoked',
    why,
    count: keys.length,
  }));
}
