import { NO_ALLOW_LISTS } from '../../../accounting/accounts/allow-lists.ts';
import type { Decimal } from '../../decimal.ts';
import type { ForeignAccount, ForeignBooks, ForeignDatabase, ForeignKey, LeftOut } from '../foreign-books.ts';
import { dollarsToNano, minus, parseDollars } from './dollars.ts';
import { readLeftOut } from './left-out.ts';
import { type KeyBudget, type KeyRow, type OwnerRow, readKeys, readOwners } from './rows.ts';
import { versionOf } from './versions.ts';

/**
 * Reads the database of LiteLLM. A team is an account with the keys of the team; a user who has keys without a team is one, too. LiteLLM has no
 * balances, it has budgets: what is left of one that is never renewed is what the account has still paid for, and any other budget is none.
 */

interface Reading {
  readonly database: ForeignDatabase;
  /** What a dollar is in yuan. */
  readonly usdCny: Decimal;
}

/** The keys of nobody are one account. */
const NOBODY: OwnerRow = {
  ref: 'nobody',
  name: 'LiteLLM keys of nobody',
  email: null,
  models: [],
  isBlocked: false,
  maxBudget: null,
  spend: '0',
  budgetDuration: null,
};
const EVERY_MODEL = new Set(['all-proxy-models', '*']);
const NO_MODEL = 'no-default-models';
/** A key of this list may call what its team may. */
const AS_THE_TEAM = 'all-team-models';
const PER_MINUTE_MAX = 1_000_000_000;

type CapName = 'dailySpendCapNano' | 'weeklySpendCapNano' | 'monthlySpendCapNano' | 'totalSpendCapNano';

/** The period of a cap here that a budget of this duration has. */
const PERIODS: ReadonlyMap<string, CapName> = new Map([
  ['24h', 'dailySpendCapNano'],
  ['1d', 'dailySpendCapNano'],
  ['daily', 'dailySpendCapNano'],
  ['7d', 'weeklySpendCapNano'],
  ['1w', 'weeklySpendCapNano'],
  ['weekly', 'weeklySpendCapNano'],
  ['30d', 'monthlySpendCapNano'],
  ['1mo', 'monthlySpendCapNano'],
  ['monthly', 'monthlySpendCapNano'],
]);

/** @throws CliError if it is no database of a version that an import was tried with. */
export async function readBooks({ database, usdCny }: Reading): Promise<ForeignBooks> {
  const version = await versionOf(database);
  const notes = new Notes();
  const keys = Map.groupBy(await readKeys(database), ({ ownerRef }) => ownerRef);
  const owners = [...(await readOwners(database)), NOBODY];
  const accounts = owners
    .filter(({ ref }) => ref.startsWith('team:') || keys.has(ref))
    .map((owner): ForeignAccount => {
      const { ref, name, email, isBlocked } = owner;
      return {
        ref,
        name,
        email,
        balanceNano: balanceOf(owner, usdCny, notes),
        suspendedBecause: isBlocked ? 'blocked in LiteLLM' : null,
        keys: (keys.get(ref) ?? []).map((key) => toKey(key, owner, usdCny, notes)),
      };
    });
  return { source: 'litellm', version, accounts, leftOut: [...notes.all(), ...(await readLeftOut(database))] };
}

/** What there is to say of keys and accounts, counted. */
class Notes {
  readonly #counts = new Map<string, LeftOut>();

  add(what: string, why: string): void {
    this.#counts.set(what, { what, why, count: (this.#counts.get(what)?.count ?? 0) + 1 });
  }

  all(): LeftOut[] {
    return [...this.#counts.values()];
  }
}

/** Of a budget that is over, nothing is left; a budget that was overdrawn is no debt. */
function balanceOf(owner: OwnerRow, usdCny: Decimal, notes: Notes): bigint {
  const { ref, maxBudget, budgetDuration } = owner;
  if (ref === NOBODY.ref) return 0n;
  if (maxBudget === null) {
    notes.add('accounts without a budget', 'they could spend without an end; top them up to let their keys call');
    return 0n;
  }
  if (budgetDuration !== null) {
    notes.add('budgets of accounts that are renewed', 'they are no money; top up the account, or grant it a plan');
    return 0n;
  }
  return leftOf(maxBudget, owner.spend, usdCny, notes) ?? 0n;
}

/** `null`: the budget is no amount of money, and LiteLLM does not look at it. */
function leftOf(maxBudget: string, spend: string, usdCny: Decimal, notes: Notes): bigint | null {
  const [max, spent] = [parseDollars(maxBudget), parseDollars(spend)];
  if (max === null || spent === null) {
    notes.add('budgets that are no amount', 'they have no bound in LiteLLM, too');
    return null;
  }
  const left = dollarsToNano(minus(max, spent), usdCny);
  return left < 0n ? 0n : left;
}

function toKey(key: KeyRow, owner: OwnerRow, usdCny: Decimal, notes: Notes): ForeignKey {
  const models = modelsOf(key, owner);
  if (models === 'none') {
    notes.add(
      'keys that are revoked here, without a model that they may call',
      'none is named, or patterns and groups only',
    );
  }
  if (models !== 'none' && models.hasPatterns) {
    notes.add('keys without the patterns of their lists of models', 'lists here name models; add them to the key');
  }
  if (key.isOfMissingTeam) {
    notes.add('keys that are revoked here, of a team that there is not', 'LiteLLM refuses them, too');
  }
  return {
    ref: key.token,
    name: key.name,
    sha256: Buffer.from(key.token, 'hex'),
    prefix: key.shown,
    isRevoked: key.isBlocked || key.isOfMissingTeam || models === 'none',
    expiresAt: key.expiresAt,
    limits: {
      ...capsOf(key, usdCny, notes),
      ...(key.parallelMax === null ? {} : { concurrencyMax: Math.min(key.parallelMax, PER_MINUTE_MAX) }),
    },
    rates: { requestsMax: perMinute(key.requestsMax, notes), tokensMax: perMinute(key.tokensMax, notes) },
    allowed: { ...NO_ALLOW_LISTS, models: models === 'none' ? null : models.names },
  };
}

/** A limit of a minute here is one call at least. */
function perMinute(limit: number | null, notes: Notes): number | null {
  if (limit === null || limit > PER_MINUTE_MAX) return null;
  if (limit > 0) return limit;
  notes.add(
    'limits of zero in a minute, which are one here',
    'a key that may do nothing is revoked here: faregate key revoke',
  );
  return 1;
}

/** Of several budgets of one period, the smallest counts. */
function capsOf(key: KeyRow, usdCny: Decimal, notes: Notes): ForeignKey['limits'] {
  const caps: Partial<Record<CapName, bigint>> = {};
  for (const budget of key.budgets) {
    const cap = capOf(budget, usdCny, notes);
    if (cap === null) continue;
    const other = caps[cap.name];
    if (other === undefined || cap.nano < other) caps[cap.name] = cap.nano;
  }
  return caps;
}

function capOf(budget: KeyBudget, usdCny: Decimal, notes: Notes): { name: CapName; nano: bigint } | null {
  const { maxBudget, spend, budgetDuration } = budget;
  const period = budgetDuration === null ? undefined : PERIODS.get(budgetDuration.trim().toLowerCase());
  const max = parseDollars(maxBudget);
  if (period !== undefined && max !== null) return { name: period, nano: atLeastNothing(dollarsToNano(max, usdCny)) };
  if (budgetDuration !== null) {
    notes.add(
      'budgets of keys that are renewed after other times than a day, a week or a month',
      'what is left of the present one is the cap of all that they spend',
    );
  }
  const left = leftOf(maxBudget, spend, usdCny, notes);
  return left === null ? null : { name: 'totalSpendCapNano', nano: left };
}

const atLeastNothing = (nano: bigint): bigint => (nano < 0n ? 0n : nano);

/** What a key may call: the models of its own list that its owner may, too. */
function modelsOf(key: KeyRow, owner: OwnerRow): 'none' | { names: string[] | null; hasPatterns: boolean } {
  const own = boundsOf(key.models.includes(AS_THE_TEAM) ? owner.models : key.models);
  const above = boundsOf(owner.models);
  if (own === null && above === null) return { names: null, hasPatterns: false };
  const both =
    own === null ? above! : above === null ? own : own.filter((name) => above.some((bound) => isWithin(name, bound)));
  const names = both.filter((name) => !name.includes('*') && name !== NO_MODEL);
  return names.length === 0 ? 'none' : { names, hasPatterns: both.some((name) => name.includes('*')) };
}

/** A bound may end in a star, as in `openai/*`. */
const isWithin = (name: string, bound: string): boolean =>
  bound === name || (bound.endsWith('*') && name.startsWith(bound.slice(0, -1)));

/** `null`: every model. */
function boundsOf(models: readonly string[]): readonly string[] | null {
  return models.length === 0 || models.some((name) => EVERY_MODEL.has(name)) ? null : models;
}
