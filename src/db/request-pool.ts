import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { isUnavailable, PoolFullError } from './errors.ts';
import type { PoolOf } from './home-pools.ts';
import type { Home } from './homes.ts';

/** A pool for HTTP requests: its failures are converted by `orRefused`. `partition`: number for errors; `null` for the directory. */
export function requestPool<Which extends Home>(pool: PoolOf<Which>, partition: number | null = null): PoolOf<Which> {
  return {
    query: (statement, parameters) => orRefused(pool.query(statement, parameters), partition),
    transaction: (work) => orRefused(pool.transaction(work), partition),
    transactionWithDirectory: (work) => orRefused(pool.transactionWithDirectory(work), partition),
  };
}

/** Partition number for error messages; `null` if there is only one partition. */
export const namedPartition = (number: number, partitions: number): number | null => (partitions === 1 ? null : number);

/** Converts failures. @throws GatewayError `overloaded` (503) if the pool's queue is full, `databaseSilent` (500) without a response */
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
