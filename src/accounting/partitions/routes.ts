import type { Questions } from '../../db/questions/database-questions.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { rememberRecent } from '../../lib/recent.ts';
import type { AccountPartitionStore } from './account-partition-store.ts';

/**
 * Something that each partition has one of, such as a store, and which of them is that of an account. An account stays in its partition, so
 * its number is read once.
 */
export interface Routes<Part> {
  /** By the number of the partition. */
  readonly all: readonly Part[];
  /**
   * That of an account, at once if its partition is known. Of an account that is not there it is the first one, which has nothing of it.
   *
   * @throws if the directory does not respond.
   */
  of(accountId: string): Part | Promise<Part>;
  /** What is made of each of them. */
  map<Other>(make: (part: Part, number: number) => Other): Routes<Other>;
}

/** Which partition each account is in, as far as this process has read it. */
export interface KnownPartitions {
  /** @throws if the directory does not respond; UnknownPartitionError. */
  find(accountId: string): number | Promise<number>;
  /** Who has read it with something else says so. @throws UnknownPartitionError if this process has not opened it. */
  note(accountId: string, partition: number): void;
}

/** More accounts than keys are cached (`accounts/principals.ts`): a call whose key is known needs no statement for its partition. */
const KNOWN_MAX = 200_000;

/** @param opened how many partitions this process has opened. */
export function createKnownPartitions(
  store: Pick<AccountPartitionStore, 'find'>,
  questions: Pick<Questions, 'ask'>,
  opened = Number.POSITIVE_INFINITY,
): KnownPartitions {
  const known = rememberRecent<number>(KNOWN_MAX);
  /** Accounts that are asked for at the same time, such as those of a list, are read with one statement. */
  let next: { readonly accountIds: Set<string>; readonly read: Promise<ReadonlyMap<string, number>> } | null = null;

  function note(accountId: string, partition: number): void {
    if (partition >= opened) throw new UnknownPartitionError(partition);
    known.set(accountId, partition);
  }

  async function read(accountIds: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    // Until whoever has begun it has asked for all of them.
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

/** @param all by the number of the partition. With one of them nothing is looked up. */
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

/** @throws UnknownPartitionError: the partition may have been added when this process had opened the others. */
export function partAt<Part>(all: readonly Part[], number: number): Part {
  const part = all[number];
  if (part === undefined) throw new UnknownPartitionError(number);
  return part;
}

/** An account is in a partition that was added when this process had opened the others: it serves nothing of it before it is started again. */
export class UnknownPartitionError extends GatewayError {
  constructor(number: number) {
    const cause = new Error(`partition ${number} was added when this process had opened the others; start it again`);
    super('shuttingDown', {
      message: 'This node has to be restarted before it serves this account. Try again; another one may respond.',
      cause,
    });
  }
}

/** Of what names accounts by their ids. */
export const itself = (accountId: string): string => accountId;

export const accountIdOf = ({ accountId }: { readonly accountId: string }): string => accountId;

type MethodOf<Part> = { readonly [Name in keyof Part]: (...given: never[]) => Promise<unknown> };

/** Where each method of a part finds the account that it is about. */
export type AccountOf<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...given: infer Given) => Promise<unknown>
    ? (...given: Given) => string
    : never;
};

/** The part of all partitions whose methods are each about one account: it hands them to that of the account. */
export function routedByAccount<Part extends MethodOf<Part>>(routes: Routes<Part>, accountOf: AccountOf<Part>): Part {
  if (routes.all.length === 1) return routes.all[0]!;
  const names = Object.keys(accountOf) as (keyof Part)[];
  const routed = names.map((name) => {
    const find = accountOf[name] as (...given: never[]) => string;
    return [name, async (...given: never[]) => (await routes.of(find(...given)))[name](...given)];
  });
  return Object.fromEntries(routed) as Part;
}

/** Asks the part of each item's account about its items together; returns what each of these parts has said. */
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

/** As `askedByPartition`, of parts that return maps: all of these as one. */
export async function mapByPartition<Part, Item, Key, Value>(
  routes: Routes<Part>,
  items: readonly Item[],
  accountOf: (item: Item) => string,
  ask: (part: Part, items: readonly Item[]) => Promise<ReadonlyMap<Key, Value>>,
): Promise<Map<Key, Value>> {
  const maps = await askedByPartition(routes, items, accountOf, ask);
  return new Map(maps.flatMap((map) => [...map]));
}

/**
 * Works through the partitions one by one. What fails in one keeps no other from its turn.
 *
 * @throws PartitionError of the first one that has failed, at the end.
 */
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

/**
 * Asks all partitions at once, for what is about all of them. What one of them does not say is missing, so none may fail.
 *
 * @throws PartitionError of the one that has failed.
 */
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

/**
 * Asks all partitions at once for something that one of them has, and returns what it says; `null` if none has it. One that fails, or
 * does not respond, matters only if no other one has it.
 *
 * @throws PartitionError of one that has failed, if no other one has it.
 */
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

/** What clients are told is told as it is: it names the partition itself (`db/request-pool.ts`). */
const withNumber = (number: number, partitions: number, error: unknown): unknown =>
  partitions === 1 || error instanceof GatewayError ? error : new PartitionError(number, error);

/**
 * One list of the lists of several partitions, each of which begins with the newest: ids sort by time, and as text as their bytes do.
 */
export function newestFirst<Item extends { readonly id: string }>(
  lists: readonly (readonly Item[])[],
  limit: number,
): Item[] {
  const sorted = lists.flat().sort((left, right) => (left.id < right.id ? 1 : -1));
  return sorted.slice(0, limit);
}

/** A partition has failed at what was asked of several; the cause says why. */
export class PartitionError extends Error {
  readonly partition: number;
  /** That of the cause. */
  readonly code: unknown;

  constructor(partition: number, cause: unknown) {
    super(`partition ${partition}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'PartitionError';
    this.partition = partition;
    this.code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  }
}
