import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { isUnavailable, PoolFullError } from './errors.ts';
import type { PoolOf } from './home-pools.ts';
import type { Home } from './homes.ts';

/** For HTTP requests: converts failures as `orRefused` does. `partition`: for errors; null for the directory, or if there is only one. */
export function requestPool<Which extends Home>(pool: PoolOf<Which>, partition: number | null = null): PoolOf<Which> {
  return {
    query: (statement, parameters) => orRefused(pool.query(statement, parameters), partition),
    transaction: (work) => orRefused(pool.transaction(work), partition),
    transactionWithDirectory: (work) => orRefused(pool.transactionWithDirectory(work), partition),
  };
}

/** The partition in error messages; null if there is only one. */
export const namedPartition = (number: number, partitions: number): number | null => (partitions === 1 ? null : number);

/** @throws GatewayError `overloaded` (503) if the pool's queue is full, `databaseSilent` (500) if the database does not respond. */
export async function orRefused<Result>(work: Promise<Result>, partition: number | null = null): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw refusalOf(error, partition);
  }
}

function refusalOf(error: unknown, partition: number | null): unknown {
  const kind = error instanceof PoolFullError ? 'overloaded' : isUnavailable(error) ? 'databaseSilent' : null;
  if (kind === null) return error;
  return new GatewayError(kind, {
    headers: { 'retry-after': '2' },
    cause: error,
    ...(partition !== null && { message: `Partition ${partition}: ${errorCatalogue[kind].message}` }),
  });
}
