import { hashSecretText, shownPrefix } from '../../../lib/secret-text.ts';
import { NANO_PER_YUAN } from '../../../lib/yuan.ts';
import { CliError } from '../../command.ts';
import { type Decimal, parseDecimal, roundedQuotient } from '../../decimal.ts';
import type { ForeignAccount, ForeignBooks, ForeignDatabase, ForeignKey, LeftOut } from '../foreign-books.ts';
import { readLeftOut } from './left-out.ts';
import { type TokenRow, type TokenTerms, termsOf } from './tokens.ts';
import { isDeleted, type Program, readColumns, versionOf } from './versions.ts';

/** Reads the databases of one-api and of new-api, which began as a copy of it: users are accounts, tokens are keys. */

/** What the programs divide a dollar into unless an option says otherwise. */
const UNITS_PER_DOLLAR = '500000';
/** What clients send in front of what `tokens.key` holds. */
const SENT_BEFORE = 'sk-';
const ROLE_OF_ROOT = '100';
const USER_ENABLED = '1';

interface Reading {
  readonly program: Program;
  readonly database: ForeignDatabase;
  /** What a dollar is in yuan. */
  readonly usdCny: Decimal;
  readonly at: Date;
}

/** @throws CliError if it is no database of a version that an import was tried with. */
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
  const sent = SENT_BEFORE + token.key;
  return {
    ref: token.id,
    name: token.name === '' ? `token ${token.id}` : token.name,
    sha256: hashSecretText(sent),
    prefix: shownPrefix(SENT_BEFORE, sent),
    isRevoked: terms.endedBy !== null,
    expiresAt: terms.expiresAt,
    limits: terms.remainingUnits === null ? {} : { totalSpendCapNano: toNano(terms.remainingUnits) },
    allowed: terms.allowed,
  };
}

/** What units of quota are in nano-yuan, to the nearest one and halves away from zero. */
export function unitsToNano(units: bigint, unitsPerDollar: Decimal, usdCny: Decimal): bigint {
  const above = units * usdCny.digits * NANO_PER_YUAN * 10n ** BigInt(unitsPerDollar.scale);
  return roundedQuotient(above, unitsPerDollar.digits * 10n ** BigInt(usdCny.scale));
}

async function readUnitsPerDollar(database: ForeignDatabase): Promise<Decimal> {
  const [row] = await database.select(`select value from options where key = 'QuotaPerUnit'`);
  const text = row?.value ?? UNITS_PER_DOLLAR;
  const read = parseDecimal(text);
  if (read === null) {
    throw new CliError(`The option QuotaPerUnit is ${JSON.stringify(text)}, which is no number of units for a dollar.`);
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

async function readTokens(program: Program, database: ForeignDatabase): Promise<TokenRow[]> {
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
    key: row.secret!,
    status: row.status!,
    expiredTime: row.expired_time!,
    remainQuota: row.remain_quota ?? '0',
    isUnlimited: row.unlimited !== null,
    models: row.models ?? null,
    networks: row.networks ?? '',
  }));
}

/** Root has its quota of the program, which gives it when it is installed. */
function rootBalances(roots: readonly { readonly name: string; readonly quota: bigint }[]): LeftOut[] {
  return roots.map(({ name, quota }) => ({
    what: `balance of ${name}, ${quota} units`,
    why: 'the program has given it to its first user, and nobody has paid it',
    count: 1,
  }));
}

function endedKeys(ended: readonly TokenTerms[]): LeftOut[] {
  return [...Map.groupBy(ended, ({ endedBy }) => endedBy!)].map(([why, keys]) => ({
    what: 'keys that are revoked here',
    why,
    count: keys.length,
  }));
}
