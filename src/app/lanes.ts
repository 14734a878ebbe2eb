import { LaneFullError } from '../db/errors.ts';
import type { LaneOf } from '../db/home-lanes.ts';
import type { Home } from '../db/homes.ts';
import { GatewayError } from '../errors/gateway-error.ts';

/** A lane of requests: 503 where more of them wait for it than may. */
export function requestLane<Which extends Home>(lane: LaneOf<Which>): LaneOf<Which> {
  return {
    query: (statement, parameters) => orOverloaded(lane.query(statement, parameters)),
    transaction: (work) => orOverloaded(lane.transaction(work)),
  };
}

/** @throws GatewayError `overloaded` where work was refused because too much of it waits. */
export async function orOverloaded<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof LaneFullError)) throw error;
    throw new GatewayError('overloaded', { headers: { 'retry-after': '2' }, cause: error });
  }
}
