import { jsonOperationOf } from '../protocols/operations/all.ts';
import { splice } from '../protocols/operations/json-operation.ts';
import type { RequestFacts } from '../protocols/operations/operation.ts';
import { type MemberParameters, type ParameterChanges, parameterChanges } from '../protocols/parameters/parameters.ts';

/** What the parameters of a route change in a request. All values are plain, so that they can be copied between threads. */
export interface Rewritten {
  /** `null`: the body stays as it is. */
  readonly changes: ParameterChanges | null;
  /** What the operation read in the changed body, so that metering knows what the provider gets; `null`: it stays as it is. */
  readonly facts: RequestFacts | null;
}

/**
 * Applies parameters to a body that was read before.
 * @param operation name of the operation of the provider
 * @throws GatewayError `invalidRequest` if the changed body is invalid
 */
export function rewritten(operation: string, body: Buffer, parameters: readonly MemberParameters[]): Rewritten {
  const found = parameterChanges(body, parameters);
  if (found === null) return { changes: null, facts: null };
  const { splices, leftOut, added, changed } = found;
  const facts = jsonOperationOf(operation).read(splice(body, splices));
  return { changes: { splices, leftOut, added, changed }, facts };
}
