import type { Hint } from './conversation.ts';
import type { ReadMembers } from './members.ts';
import type { ClientFormName } from './pairs.ts';

/**
 * Members that a protocol has and the others lack: those that a provider may accept, and those that cannot be left out. Readers follow
 * these tables; `docs/translation.md` shows them.
 */

/** A member that is sent if the `dialect` of the provider takes it, and left out otherwise. */
interface OptionalMember {
  /** Its path in the body of the client, such as `text.verbosity`. */
  readonly path: string;
  /** Its name in `takes`, and in the body of a chat provider. */
  readonly name: string;
}

const same = (...names: readonly string[]): readonly OptionalMember[] => names.map((name) => ({ path: name, name }));

export const optionalMembers: Readonly<Record<ClientFormName, readonly OptionalMember[]>> = {
  chat: same(
    ...['user', 'safety_identifier', 'seed', 'prompt_cache_key', 'frequency_penalty', 'presence_penalty', 'top_k'],
    ...['verbosity', 'prediction', 'metadata', 'store'],
  ),
  messages: [
    ...same('top_k'),
    { path: 'metadata.user_id', name: 'user' },
    ...same('cache_control'),
    { path: 'output_config.task_budget', name: 'task_budget' },
  ],
  responses: [
    ...same('user', 'safety_identifier', 'prompt_cache_key', 'metadata'),
    { path: 'text.verbosity', name: 'verbosity' },
  ],
};

/**
 * Takes the optional members of a request.
 * @param inner objects of the body that the reader has taken, by name; `null`: absent
 */
export function readHints(
  client: ClientFormName,
  top: ReadMembers,
  inner: Readonly<Record<string, ReadMembers | null>> = {},
): ReadonlyMap<string, Hint> {
  const hints = new Map<string, Hint>();
  for (const { path, name } of optionalMembers[client]) {
    const [first, second] = path.split('.') as [string, string | undefined];
    const value = second === undefined ? top.raw(first) : inner[first]?.raw(second);
    if (value != null) hints.set(name, { path, value });
  }
  return hints;
}

/** Values of a member that change the answer, or refer to something that only the client's own vendor has. */
type RefusedValues =
  | 'any'
  | 'true'
  | 'filled'
  | { readonly above: number }
  | { readonly otherThan: readonly string[] }
  | { readonly itemsOtherThan: readonly string[] };

export interface RefusedMember {
  readonly name: string;
  readonly values: RefusedValues;
  /** A sentence without its subject. */
  readonly reason: string;
}

const TIERS = { name: 'service_tier', reason: 'asks for another service tier' };
const STATE = 'refers to state that is not stored. Send the items themselves, with "store": false';

export const refusedMembers: Readonly<Record<ClientFormName, readonly RefusedMember[]>> = {
  chat: [
    { name: 'n', values: { above: 1 }, reason: 'asks for more than one choice' },
    { name: 'logprobs', values: 'true', reason: 'asks for log probabilities' },
    { name: 'top_logprobs', values: { above: 0 }, reason: 'asks for log probabilities' },
    { name: 'logit_bias', values: 'filled', reason: 'changes the probabilities of tokens' },
    { name: 'functions', values: 'any', reason: 'exists only in chat' },
    { name: 'function_call', values: 'any', reason: 'exists only in chat' },
    { name: 'audio', values: 'any', reason: 'exists only in chat' },
    { name: 'modalities', values: { itemsOtherThan: ['text'] }, reason: 'asks for output other than text' },
    { ...TIERS, values: { otherThan: ['auto', 'default'] } },
  ],
  messages: [
    { name: 'container', values: 'any', reason: 'refers to state of a provider' },
    { name: 'thread', values: 'any', reason: 'refers to state of a provider' },
    { name: 'speed', values: { otherThan: ['standard'] }, reason: 'asks for another service tier' },
    { ...TIERS, values: { otherThan: ['auto', 'standard_only'] } },
  ],
  responses: [
    { name: 'previous_response_id', values: 'any', reason: STATE },
    { name: 'conversation', values: 'any', reason: STATE },
    { name: 'prompt', values: 'any', reason: STATE },
    { name: 'top_logprobs', values: { above: 0 }, reason: 'asks for log probabilities' },
    { ...TIERS, values: { otherThan: ['auto', 'default'] } },
  ],
};

/** Takes the members that cannot be left out. @throws GatewayError `invalidRequest` if one has a refused value */
export function refuseMembers(client: ClientFormName, top: ReadMembers): void {
  for (const { name, values, reason } of refusedMembers[client]) {
    if (isRefused(top, name, values)) top.refuse(name, reason);
  }
}

function isRefused(top: ReadMembers, name: string, values: RefusedValues): boolean {
  if (values === 'any') return top.take(name) !== null;
  if (values === 'true') return top.boolean(name) === true;
  if (values === 'filled') return (top.object(name)?.rest().size ?? 0) > 0;
  if ('above' in values) return (top.count(name) ?? 0) > values.above;
  if ('itemsOtherThan' in values) {
    return top.items(name).some(({ text }) => text === null || !values.itemsOtherThan.includes(text));
  }
  const text = top.text(name);
  return text !== null && !values.otherThan.includes(text);
}
