import { LRUCache } from 'lru-cache';
import type { Questions } from '../../db/questions/database-questions.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
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
  /** @throws if the directory does not respond. */
  find(accountId: string): number | Promise<number>;
  /** Who has read it with something else says so. */
  note(accountId: string, partition: number): void;
}

/** More accounts than keys are cached (`accounts/principals.ts`): a call whose key is known needs no statement for its partition. */
const KNOWN_MAX = 200_000;

export function createKnownPartitions(
  store: Pick<AccountPartitionStore, 'find'>,
  questions: Pick<Questions, 'ask'>,
): KnownPartitions {
  const known = new LRUCache<string, number>({ maxSize: KNOWN_MAX, sizeCalculation: () => 1 });

  async function read(accountId: string): Promise<number> {
    const [found] = await questions.ask((signal) => store.find([accountId], signal));
    if (found === undefined) return 0;
    known.set(accountId, found.partition);
    return found.partition;
  }

  return {
    find: (accountId) => known.get(accountId) ?? read(accountId),
    note: (accountId, partition) => void known.set(accountId, partition),
  };
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

export class UnknownPartitionError extends Error {
  constructor(number: number) {
    super(`partition ${number} was added when this process had opened the others; start it again`);
  }
}

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
  const asked = new Map<Part, Item[]>();
  for (const item of items) {
    const part = await routes.of(accountOf(item));
    const beside = asked.get(part);
    if (beside === undefined) asked.set(part, [item]);
    else beside.push(item);
  }
  return Promise.all([...asked].map(([part, those]) => ask(part, those)));
}

/** Several maps as one. */
export const mergedMaps = <Key, Value>(maps: readonly ReadonlyMap<Key, Value>[]): Map<Key, Value> =>
  new Map(maps.flatMap((map) => [...map]));

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
      failure ??= all.length === 1 || error instanceof GatewayError ? error : new PartitionError(number, error);
    }
  }
  if (failure !== null) throw failure;
  return results;
}

/**
 * What the first partition that has it returns, in the order of their numbers; `null` if none has it. One that fails matters only if no
 * other one has it.
 *
 * @throws PartitionError of the first one that has failed, if no other one has it.
 */
export async function firstFound<Part, Found>(
  { all }: Routes<Part>,
  find: (part: Part, number: number) => Promise<Found | null>,
): Promise<Found | null> {
  let failure: unknown = null;
  for (const [number, part] of all.entries()) {
    try {
      const found = await find(part, number);
      if (found !== null) return found;
    } catch (error) {
      failure ??= all.length === 1 || error instanceof GatewayError ? error : new PartitionError(number, error);
    }
  }
  if (failure !== null) throw failure;
  return null;
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
