import { isRecord } from '../../lib/json/json.ts';
import type { ReadResponse } from '../metering/response.ts';
import { readCount } from '../metering/usage-facts.ts';

export const PASS_THROUGH_MEMBERS = ['usage', 'meta', 'tokens'];

type MemberPath = readonly [string, ...string[]];

/** Returns the first count that is not zero, because relays can add zeros. A place is a sum of members, of which the first must exist. */
export function firstCount(
  response: ReadResponse,
  places: readonly (readonly [MemberPath, ...MemberPath[]])[],
): number | null {
  let found: number | null = null;
  for (const [first, ...others] of places) {
    const count = countAt(response, first);
    if (count === undefined) return null;
    if (count === null) continue;
    let sum = count;
    for (const other of others) {
      const more = countAt(response, other);
      if (more === undefined) return null;
      sum += more ?? 0;
    }
    if (sum > 0) return sum;
    found = sum;
  }
  return found;
}

function countAt(response: ReadResponse, [top, ...path]: MemberPath): number | null | undefined {
  let value = response.member(top);
  for (const name of path) value = isRecord(value) ? value[name] : undefined;
  return readCount(value);
}
