import type { Questions } from '../../db/questions/database-questions.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { rememberRecent } from '../../lib/recent.ts';
import type { AccountPartitionStore } from './account-partition-store.ts';

/** Finds the object, such as a store, for an account's partition. An account never moves, so its partition is read only once. */
export interface Routes<Part> {
  readonly all: readonly Part[];
  /** Returns the object for an account; the first one if the account does not exist. @throws if the directory does not respond */
  of(accountId: string): Part | Promise<Part>;
  map<Other>(make: (part: Part, number: number) => Other): Routes<Other>;
}

export interface KnownPartitions {
  /** Returns the partition number of an account. @throws if the directory does not respond; UnknownPartitionError */
  find(accountId: string): number | Promise<number>;
  /** Remembers the partition that another query has read. @throws UnknownPartitionError if this process has not opened it */
  note(accountId: string, partition: number): void;
}

/** Maximum number of remembered accounts: more than cached keys (`accounts/principals.ts`), so that calls with cached keys need no query. */
const KNOWN_MAX = 200_000;

/** @param opened number of partitions that this process has opened */
export function createKnownPartitions(
  store: Pick<AccountPartitionStore, 'find'>,
  questions: Pick<Questions, 'ask'>,
  opened = Number.POSITIVE_INFINITY,
): KnownPartitions {
  const known = rememberRecent<number>(KNOWN_MAX);
  /** The next lookup. One statement reads all accounts that are requested in the same tick of the event loop. */
  let next: { readonly accountIds: Set<string>; readonly read: Promise<ReadonlyMap<string, number>> } | null = null;

  function note(accountId: string, partition: number): void {
    if (partition >= opened) throw new UnknownPartitionError(partition);
    known.set(accountId, partition);
  }

  async function read(accountIds: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    // Waits for further lookups in the same tick.
    await null;
    next = null;
    const found = await questions.ask((signal) => store.find([...accountIds], signal));
    return new Map(found.map(({ accountId, partition }) => [accountId, partition]));
  }

  async function readWithOthers(accountId: string): Promise<number> {
    if (next === null) {
      const accountIds = new Set<string>();
      next = { accountIds, read: read(accountIds) };
    }
    next.accountIds.add(accountId);
    const partition = (await next.read).get(accountId);
    if (partition === undefined) return 0;
    note(accountId, partition);
    return partition;
  }

  return { find: (accountId) => known.get(accountId) ?? readWithOthers(accountId), note };
}

/** @param all the objects by partition number; a single one needs no lookup */
export function createRoutes<Part>(all: readonly Part[], known: Pick<KnownPartitions, 'find'>): Routes<Part> {
  const at = (number: number): Part => partAt(all, number);
  return {
    all,
    of(accountId) {
      if (all.length === 1) return all[0]!;
      const number = known.find(accountId);
      return typeof number === 'number' ? at(number) : number.then(at);
    },
    map: (make) => createRoutes(all.map(make), known),
  };
}

/** @throws UnknownPartitionError if the partition was added after this process opened its own */
export function partAt<Part>(all: readonly Part[], number: number): Part {
  const part = all[number];
  if (part === undefined) throw new UnknownPartitionError(number);
  return part;
}

/** Error for an account in a partition that was added after this process started. After a restart, the process can serve it. */
export class UnknownPartitionError extends GatewayError {
  constructor(number: number) {
    const cause = new Error(`partition ${number} was added after this process opened its partitions; restart it`);
    super('shuttingDown', {
      message: 'This node must be restarted before it can serve this account. Try again; another node may respond.',
      cause,
    });
  }
}

export const itself = (accountId: string): string => accountId;

export const accountIdOf = ({ accountId }: { readonly accountId: string }): string => accountId;

type MethodOf<Part> = { readonly [Name in keyof Part]: (...given: never[]) => Promise<unknown> };

/** For each method, a function that takes the account id from the method's arguments. */
type AccountOf<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...given: infer Given) => Promise<unknown>
    ? (...given: Given) => string
    : never;
};

/** Combines the objects of all partitions into one. Each method delegates to the partition of one account. */
export function routedByAccount<Part extends MethodOf<Part>>(routes: Routes<Part>, accountOf: AccountOf<Part>): Part {
  if (routes.all.length === 1) return routes.all[0]!;
  const names = Object.keys(accountOf) as (keyof Part)[];
  const routed = names.map((name) => {
    const find = accountOf[name] as (...given: never[]) => string;
    return [name, async (...given: never[]) => (await routes.of(find(...given)))[name](...given)];
  });
  return Object.fromEntries(routed) as Part;
}

/** Groups items by the partition of their accounts and queries each partition once. The order of results is undefined. */
export async function askedByPartition<Part, Item, Result>(
  routes: Routes<Part>,
  items: readonly Item[],
  accountOf: (item: Item) => string,
  ask: (part: Part, items: readonly Item[]) => Promise<Result>,
): Promise<Result[]> {
  const parts = await Promise.all(items.map((item) => routes.of(accountOf(item))));
  const asked = Map.groupBy(items.keys(), (at) => parts[at]!);
  return Promise.all(
    [...asked].map(([part, those]) =>
      ask(
        part,
        those.map((at) => items[at]!),
      ),
    ),
  );
}

/** Like `askedByPartition`, but merges the maps that the partitions return. */
export async function mapByPartition<Part, Item, Key, Value>(
  routes: Routes<Part>,
  items: readonly Item[],
  accountOf: (item: Item) => string,
  ask: (part: Part, items: readonly Item[]) => Promise<ReadonlyMap<Key, Value>>,
): Promise<Map<Key, Value>> {
  const maps = await askedByPartition(routes, items, accountOf, ask);
  return new Map(maps.flatMap((map) => [...map]));
}

/** Runs work on one partition after another and continues after a failure. At the end: @throws PartitionError of the first failure */
export async function inEachPartition<Part, Result>(
  { all }: Routes<Part>,
  work: (part: Part, number: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let failure: unknown = null;
  for (const [number, part] of all.entries()) {
    try {
      results.push(await work(part, number));
    } catch (error) {
      failure ??= withNumber(number, all.length, error);
    }
  }
  if (failure !== null) throw failure;
  return results;
}

/** Queries all partitions in parallel. @throws PartitionError if one fails, because the result would be incomplete */
export function ofEachPartition<Part, Result>(
  { all }: Routes<Part>,
  ask: (part: Part) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(
    all.map((part, number) =>
      ask(part).catch((error: unknown) => {
        throw withNumber(number, all.length, error);
      }),
    ),
  );
}

/** Searches all partitions in parallel; `null`: not found. @throws PartitionError of the first failure, if nothing was found */
export function firstFound<Part, Found>(
  { all }: Routes<Part>,
  find: (part: Part, number: number) => Promise<Found | null>,
): Promise<Found | null> {
  let failure: unknown = null;
  let missed = 0;
  return new Promise((resolve, reject) => {
    const miss = (): void => {
      if (++missed < all.length) return;
      if (failure === null) resolve(null);
      else reject(failure);
    };
    for (const [number, part] of all.entries()) {
      find(part, number).then(
        (found) => (found === null ? miss() : resolve(found)),
        (error: unknown) => {
          failure ??= withNumber(number, all.length, error);
          miss();
        },
      );
    }
  });
}

/** Adds the partition number to an error. A `GatewayError` already names the partition (`db/request-pool.ts`). */
const withNumber = (number: number, partitions: number, error: unknown): unknown =>
  partitions === 1 || error instanceof GatewayError ? error : new PartitionError(number, error);

/** Merges lists, newest first. Ids sort by time, so the newest item has the greatest id. */
export function newestFirst<Item extends { readonly id: string }>(
  lists: readonly (readonly Item[])[],
  limit: number,
): Item[] {
  const sorted = lists.flat().sort((left, right) => (left.id < right.id ? 1 : -1));
  return sorted.slice(0, limit);
}

export class PartitionError extends Error {
  readonly partition: number;
  /** Error code of the cause. */
  readonly code: unknown;

  constructor(partition: number, cause: unknown) {
    super(`partition ${partition}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'PartitionError';
    this.partition = partition;
    this.code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  }
}
