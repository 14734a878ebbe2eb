import { NO_ALLOW_LISTS } from '../../../accounting/accounts/allow-lists.ts';
import type { Decimal } from '../../../lib/decimal.ts';
import type { ForeignAccount, ForeignBooks, ForeignDatabase, ForeignKey, LeftOut } from '../foreign-books.ts';
import { dollarsToNano, minus, parseDollars } from './dollars.ts';
import { readLeftOut } from './left-out.ts';
import { type KeyBudget, type KeyRow, type OwnerRow, readKeys, readOwners } from './rows.ts';
import { versionOf } from './versions.ts';

type Reading = { readonly database: ForeignDatabase; readonly usdCny: Decimal };

/** Owner of keys with neither a team nor a user. They get an account of their own. */
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
/** Entry in the model list of a key that means every model of its team. */
const AS_THE_TEAM = 'all-team-models';
const PER_MINUTE_MAX = 1_000_000_000;

type CapName = 'dailySpendCapNano' | 'weeklySpendCapNano' | 'monthlySpendCapNano' | 'totalSpendCapNano';

/** Caps by duration: which cap a key gets for a budget of this duration. */
const PERIODS: ReadonlyMap<string, CapName> = new Map([
  ...['24h', '1d', 'daily'].map((period) => [period, 'dailySpendCapNano'] as const),
  ...['7d', '1w', 'weekly'].map((period) => [period, 'weeklySpendCapNano'] as const),
  ...['30d', '1mo', 'monthly'].map((period) => [period, 'monthlySpendCapNano'] as const),
]);

/**
 * Reads a database of LiteLLM. A team becomes an account with its keys, and so does a user who has keys without a team. LiteLLM has budgets
 * instead of balances: the unspent part of a budget that is never renewed becomes the balance; other budgets add nothing to it.
 *
 * @throws CliError if it is not a database of a tested version
 */
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

/** Counts what an import changes or leaves out. */
class Notes {
  readonly #counts = new Map<string, LeftOut>();

  add(what: string, why: string): void {
    this.#counts.set(what, { what, why, count: (this.#counts.get(what)?.count ?? 0) + 1 });
  }

  all(): LeftOut[] {
    return [...this.#counts.values()];
  }
}

/** Returns the balance of an account. A budget that is overdrawn becomes a balance of zero, not a debt. */
function balanceOf(owner: OwnerRow, usdCny: Decimal, notes: Notes): bigint {
  const { ref, maxBudget, budgetDuration } = owner;
  if (ref === NOBODY.ref) return 0n;
  if (maxBudget === null) {
    notes.add(
      'accounts without a budget',
      'their spending has no limit in LiteLLM; top them up, so that their keys can call',
    );
    return 0n;
  }
  if (budgetDuration !== null) {
    notes.add(
      'budgets of accounts that are renewed after a period',
      'they are limits, not balances; top up the account, or grant it a plan',
    );
    return 0n;
  }
  return leftOf(maxBudget, owner.spend, usdCny, notes) ?? 0n;
}

/** Returns the unspent part of a budget; `null` if the budget is not an amount. LiteLLM ignores such a budget. */
function leftOf(maxBudget: string, spend: string, usdCny: Decimal, notes: Notes): bigint | null {
  const [max, spent] = [parseDollars(maxBudget), parseDollars(spend)];
  if (max === null || spent === null) {
    notes.add('budgets that are not amounts', 'LiteLLM ignores them too');
    return null;
  }
  const left = dollarsToNano(minus(max, spent), usdCny);
  return left < 0n ? 0n : left;
}

function toKey(key: KeyRow, owner: OwnerRow, usdCny: Decimal, notes: Notes): ForeignKey {
  const models = modelsOf(key, owner);
  if (models === 'none') {
    notes.add(
      'keys that are imported as revoked, because they allow no model',
      'their model lists are empty, or have only patterns and groups',
    );
  }
  if (models !== 'none' && models.hasPatterns) {
    notes.add(
      'keys whose model lists lose their patterns',
      'lists in Faregate name single models; add these to the key',
    );
  }
  if (key.isOfMissingTeam) {
    notes.add('keys that are imported as revoked, because their team does not exist', 'LiteLLM refuses them too');
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

/** Returns a limit per minute. In Faregate, it is at least 1. */
function perMinute(limit: number | null, notes: Notes): number | null {
  if (limit === null || limit > PER_MINUTE_MAX) return null;
  if (limit > 0) return limit;
  notes.add('limits of zero per minute, which become 1', 'to block a key, revoke it: faregate key revoke');
  return 1;
}

/** Returns the caps of a key. Of several budgets with the same period, the smallest applies. */
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
  if (period !== undefined && max !== null) return { name: period, nano: notBelowZero(dollarsToNano(max, usdCny)) };
  if (budgetDuration !== null) {
    notes.add(
      'budgets of keys that are renewed after another period than a day, a week or a month',
      'the rest of the current budget becomes the total cap of the key',
    );
  }
  const left = leftOf(maxBudget, spend, usdCny, notes);
  return left === null ? null : { name: 'totalSpendCapNano', nano: left };
}

const notBelowZero = (nano: bigint): bigint => (nano < 0n ? 0n : nano);

/** Returns the models in a key's list that its owner may use, too; `none` if there are none. */
function modelsOf(key: KeyRow, owner: OwnerRow): 'none' | { names: string[] | null; hasPatterns: boolean } {
  const own = boundsOf(key.models.includes(AS_THE_TEAM) ? owner.models : key.models);
  const above = boundsOf(owner.models);
  if (own === null && above === null) return { names: null, hasPatterns: false };
  const both =
    own === null ? above! : above === null ? own : own.filter((name) => above.some((bound) => isWithin(name, bound)));
  const names = both.filter((name) => !name.includes('*') && name !== NO_MODEL);
  return names.length === 0 ? 'none' : { names, hasPatterns: both.some((name) => name.includes('*')) };
}

/** Whether a name is within a bound, which may end in `*`, as in `openai/*`. */
const isWithin = (name: string, bound: string): boolean =>
  bound === name || (bound.endsWith('*') && name.startsWith(bound.slice(0, -1)));

/** Returns the bounds of a list; `null` if it includes every model. */
function boundsOf(models: readonly string[]): readonly string[] | null {
  return models.length === 0 || models.some((name) => EVERY_MODEL.has(name)) ? null : models;
}
