import type { Principal } from '../accounting/accounts/principals.ts';
import type { Soon } from '../lib/soon.ts';
import { jsonOperationOf } from '../protocols/operations/all.ts';
import { splice } from '../protocols/operations/json-operation.ts';
import type { CallInput, Operation } from '../protocols/operations/operation.ts';
import type { ParameterChanges } from '../protocols/parameters/parameters.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import { type BodyMemory, type MemoryOf, releasedOnFailure } from './body-memory.ts';
import type { RequestWorkers } from './request-workers.ts';
import type { Rewritten } from './rewritten.ts';

/** A request with the parameters of a route. */
export interface RewrittenInput extends Pick<ParameterChanges, 'leftOut' | 'added' | 'changed'> {
  readonly route: Route;
  readonly input: CallInput;
  /** Returns the memory of the body to the budget. May be called repeatedly. */
  release(): void;
}

interface AskedCall {
  readonly principal: Principal;
  readonly policy: { readonly operation: Operation };
  readonly clientInput: CallInput;
}

interface RewriterDependencies {
  readonly rewrite: RequestWorkers['rewrite'];
  readonly memoryOf: MemoryOf;
}

/** Applies parameters of routes to requests of calls. Changed bodies count in the memory of bodies until they are released. */
export class Rewriter {
  readonly #dependencies: RewriterDependencies;

  constructor(dependencies: RewriterDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Applies the parameters of a route to the request of a call.
   * @throws GatewayError, or rejects with it: `invalidRequest` if the changed body is invalid, `overloaded` if there is no memory or no
   * thread for it
   */
  rewrite(call: AskedCall, route: Route): Soon<RewrittenInput> {
    const { clientInput, policy, principal } = call;
    const { rewrite, memoryOf } = this.#dependencies;
    const body = clientInput.clientBody!;
    const memory = memoryOf(principal);
    const ofRoute = (result: Rewritten): RewrittenInput => inputOf(call, route, result, memory);
    return releasedOnFailure(memory, () => {
      // Another thread gets a copy of the client's body, and the changed body is about as large.
      memory.need(body.length);
      const result = rewrite(policy.operation.name, body, route.parameters!, principal);
      return result instanceof Promise ? result.then(ofRoute) : ofRoute(result);
    });
  }
}

/** Whether the parameters of a route apply to the request. Uploads stay as they are. */
export function hasParameters({ parameters, translation }: Route, { clientBody }: CallInput): boolean {
  return parameters !== undefined && translation === undefined && clientBody !== null;
}

function inputOf(
  { clientInput, policy }: AskedCall,
  route: Route,
  { changes, facts }: Rewritten,
  memory: BodyMemory,
): RewrittenInput {
  const release = (): void => memory.release();
  if (changes === null || facts === null) {
    release();
    return { route, input: clientInput, leftOut: [], added: [], changed: [], release };
  }
  const { splices, leftOut, added, changed } = changes;
  const body = splice(clientInput.clientBody!, splices);
  memory.need(body.length);
  const input = jsonOperationOf(policy.operation.name).toInput(facts, body);
  return { route, input, leftOut, added, changed, release };
}
