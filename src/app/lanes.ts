import { isUnavailable, LaneFullError } from '../db/errors.ts';
import type { LaneOf } from '../db/home-lanes.ts';
import type { Home } from '../db/homes.ts';
import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError, type GatewayErrorOptions } from '../errors/gateway-error.ts';

/**
 * A lane of requests: 503 where more of them wait for it than may, 500 where its database does not respond.
 *
 * @param partition which of several it is of, for errors to name; `null`: there is one, or it is the directory's.
 */
export function requestLane<Which extends Home>(lane: LaneOf<Which>, partition: number | null = null): LaneOf<Which> {
  return {
    query: (statement, parameters) => orRefused(lane.query(statement, parameters), partition),
    transaction: (work) => orRefused(lane.transaction(work), partition),
    transactionWithDirectory: (work) => orRefused(lane.transactionWithDirectory(work), partition),
  };
}

/** Which of so many partitions it is, for errors to name; `null`: there is no other one. */
export const namedPartition = (number: number, partitions: number): number | null => (partitions === 1 ? null : number);

/** @throws GatewayError `overloaded` where work was refused because too much of it waits; `databaseSilent`. */
export async function orRefused<Result>(work: Promise<Result>, partition: number | null = null): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw refusalOf(error, partition);
  }
}

function refusalOf(error: unknown, partition: number | null): unknown {
  const options: GatewayErrorOptions = { headers: { 'retry-after': '2' }, cause: error };
  if (error instanceof LaneFullError) {
    const { message } = errorCatalogue.overloaded;
    if (partition === null) return new GatewayError('overloaded', options);
    const named = message.replace('this node as it', `partition ${partition} as this node`);
    return new GatewayError('overloaded', { ...options, message: named });
  }
  if (!isUnavailable(error)) return error;
  const { message } = errorCatalogue.databaseSilent;
  const named = partition === null ? message : message.replace(/^The/, `Partition ${partition} of the`);
  return new GatewayError('databaseSilent', { ...options, message: named });
}
