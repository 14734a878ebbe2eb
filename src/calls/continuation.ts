import type { ContinuedState } from '../accounting/continuation/continuation-key-store.ts';
import type { ContinuationKeys } from '../accounting/continuation/continuation-keys.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Soon } from '../lib/soon.ts';
import type { CallInput } from '../protocols/operations/operation.ts';
import { isSignedKey } from '../protocols/signed-blocks.ts';
import { canBeMade, type StateKind, type StateReference, stateKey } from '../protocols/state-references.ts';
import type { UnlistedPart } from '../protocols/unlisted-parts.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import type { Providers } from '../providers/upstream/provider.ts';

export interface Continuation {
  /** Provider and model of the state that the call continues, such as an earlier response; `null` if unknown. */
  readonly continuedState: Pick<ContinuedState, 'model' | 'providerId'> | null;
  /** Provider and model of the newest signed block that is known. This provider accepted all earlier blocks, so it is the best choice. */
  readonly signed: Pick<ContinuedState, 'model' | 'providerId'> | null;
  /** Size of the largest response that the call continues; `undefined`: the size of one of them is unknown. */
  readonly continuedTokens: number | undefined;
  /** The first reference to state that was not created by calls of this account. */
  readonly unknown: StateReference | null;
}

/** The continuation of a call that continues nothing. */
export const NO_STATE: Continuation = { continuedState: null, signed: null, continuedTokens: undefined, unknown: null };

/**
 * Finds which provider created what the request continues. If only one provider can serve the call (`hasChoice` is false), only explicit
 * references are looked up.
 * @throws if the database is down
 */
export function findContinuation(
  continuationKeys: Pick<ContinuationKeys, 'find'>,
  accountId: string,
  input: Pick<CallInput, 'continuationKeys' | 'references' | 'signedKeys'>,
  hasChoice: boolean,
): Soon<Continuation> {
  const keys = hasChoice ? [...input.continuationKeys, ...input.signedKeys()] : [];
  if (input.references.length === 0 && keys.length === 0) return NO_STATE;
  return lookUp(continuationKeys, accountId, keys, input.references);
}

async function lookUp(
  continuationKeys: Pick<ContinuationKeys, 'find'>,
  accountId: string,
  contextKeys: readonly string[],
  stateReferences: readonly StateReference[],
): Promise<Continuation> {
  const references = stateReferences.map((reference) => ({ reference, key: stateKey(reference) }));
  const keys = [...new Set([...contextKeys, ...references.map(({ key }) => key)])];
  const known = await continuationKeys.find(accountId, keys);
  const firstKnown = (isSigned: boolean): ContinuedState | null => {
    const key = keys.find((each) => known.has(each) && isSignedKey(each) === isSigned);
    return key === undefined ? null : known.get(key)!;
  };
  return {
    continuedState: firstKnown(false),
    signed: firstKnown(true),
    continuedTokens: sizeOf(references, known),
    unknown: references.find(({ reference, key }) => !canBeMade(reference.kind) || !known.has(key))?.reference ?? null,
  };
}

function sizeOf(
  references: readonly { readonly reference: StateReference; readonly key: string }[],
  known: ReadonlyMap<string, ContinuedState>,
): number | undefined {
  let totalTokens = 0;
  for (const { reference, key } of references) {
    if (reference.kind !== 'response') continue;
    const tokens = known.get(key)?.totalTokens;
    if (tokens === undefined) return undefined;
    totalTokens = Math.max(totalTokens, tokens);
  }
  return totalTokens;
}

/**
 * Routes that can read the referenced state: all if the account owns it, otherwise those of providers with shared state
 * (`docs/provider-state.md`).
 * @throws GatewayError `stateUnknown` or `invalidRequest` if there is no such route
 */
export function routesToState(
  routes: readonly Route[],
  unknown: StateReference | null,
  providers: Pick<Providers, 'get'>,
): readonly Route[] {
  if (unknown === null) return routes;
  const open = routes.filter(({ providerId }) => providers.get(providerId).sharesState);
  if (open.length === 0) throw refusal(unknown);
  return open;
}

/** Filters routes by what their providers may receive. @throws GatewayError `invalidRequest` if no route is left */
export function routesThatAllow(
  routes: readonly Route[],
  unlisted: readonly UnlistedPart[],
  providers: Pick<Providers, 'get'>,
): readonly Route[] {
  if (unlisted.length === 0) return routes;
  const refuses = ({ providerId }: Route): UnlistedPart | undefined =>
    unlisted.find(({ name }) => !providers.get(providerId).allows(name));
  const open = routes.filter((route) => refuses(route) === undefined);
  if (open.length === 0) throw unlistedRefusal(refuses(routes[0]!)!);
  return open;
}

const PROBLEMS: Readonly<Record<UnlistedPart['problem'], string>> = {
  type: 'is a tool that this gateway does not know',
  member: 'is not a member of this tool that this gateway knows',
  form: 'has a form that this gateway does not know',
};

function unlistedRefusal({ name, param, problem }: UnlistedPart): GatewayError {
  const message =
    `"${name}" ${PROBLEMS[problem]}, so the gateway cannot tell what it refers to. The operator can allow it at a provider: ` +
    `allows: [${name}], or unknownTools: pass.`;
  return new GatewayError('invalidRequest', { message, param });
}

const ID_CHARACTERS_SHOWN = 80;

function refusal({ kind, id, param }: StateReference): GatewayError {
  const refused = REFUSED[kind];
  if (refused !== undefined) {
    const message = kind === 'state' ? `The field "${param}" is not allowed. ${refused}` : refused;
    return new GatewayError('invalidRequest', { message, param });
  }
  const message = `${NOUNS[kind] ?? 'Object'} with id '${id.slice(0, ID_CHARACTERS_SHOWN)}' not found.`;
  return new GatewayError('stateUnknown', { message, param });
}

const NOUNS: Readonly<Partial<Record<StateKind, string>>> = {
  response: 'Previous response',
  item: 'Item',
  container: 'Container',
  audio: 'Audio',
};

/** State that no endpoint of the gateway creates, so no account can own it. Files that tools created are known from responses. */
const REFUSED: Readonly<Partial<Record<StateKind, string>>> = {
  file: 'Files are not implemented; send the content itself or a URL.',
  conversation: 'Conversations are not implemented; send the items themselves, or previous_response_id.',
  vector_store: 'Vector stores are not implemented.',
  prompt: 'Stored prompts are not implemented; send the instructions themselves.',
  skill: 'Skills of your own are not implemented.',
  thread: 'Threads are not implemented; send the messages themselves.',
  tunnel:
    'Tunnels belong to the account of the operator at the provider and cannot be used; use a server on the internet.',
  connector: 'Connectors of your own are not implemented.',
  profile: 'Workspaces and user profiles belong to the account of the operator at the provider and cannot be used.',
  cache: "The content of a provider's cache or memory cannot be referenced; send the content itself.",
  adapter: 'Files and code at a provider cannot be referenced.',
  network: "Addresses in a provider's network cannot be used.",
  state: 'It refers to state at the provider that belongs to no account of this gateway.',
};
