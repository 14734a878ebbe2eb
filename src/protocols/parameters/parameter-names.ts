import { foldedName } from '../../lib/folded-name.ts';
import { DECISIVE_BY_FOLDED } from '../operations/decisive-fields.ts';
import { Meaning, meaningOf } from '../operations/demand-names.ts';
import type { Rule } from '../request-rules.ts';
import { STATE_AT_TOP } from '../top-members.ts';

/** What a parameter of a route does with a member of the body. */
export const PARAMETER_ACTIONS = ['set', 'default', 'remove', 'max'] as const;
export type ParameterAction = (typeof PARAMETER_ACTIONS)[number];

const ALL: readonly ParameterAction[] = PARAMETER_ACTIONS;

/** Members that decide what a call costs, but that are read again in the body behind the parameters. */
const READ_AGAIN: readonly (readonly [names: readonly string[], actions: readonly ParameterAction[], why: string])[] = [
  [
    ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_new_tokens'],
    ['default', 'max'],
    'A limit of the output can only have a "default" and a "max": callers pay for what they asked for at most.',
  ],
  [
    ['thinking', 'thinking_budget', 'enable_thinking', 'reasoning', 'reasoning_effort', 'store', 'cache_control'],
    ALL,
    '',
  ],
  [['service_tier', 'speed', 'inference_geo'], ['remove'], 'It decides the price, so it can only be removed.'],
];

const ACTIONS = new Map(
  READ_AGAIN.flatMap(([names, actions, why]) => names.map((name) => [foldedName(name), { actions, why }] as const)),
);

/** Members that the gateway sets itself, or from which it learns what the response will be. */
const OWN = new Map(
  (
    [
      ['model', 'The "model" of the route sets it.'],
      ['stream', 'The response has the form that the client asked for.'],
      ['suffix', 'It is content, so only the client can set it.'],
      ['stream_options', 'The gateway sets it, because calls are charged by the reported usage.'],
      ['usage', 'The gateway sets it, because calls are charged by the reported usage.'],
      ['include_usage', 'The gateway sets it, because calls are charged by the reported usage.'],
    ] as const
  ).map(([name, why]) => [foldedName(name), why]),
);

const STATE = new Set(
  Object.entries(STATE_AT_TOP)
    .filter(([, rule]) => refersToState(rule))
    .map(([name]) => foldedName(name)),
);

function refersToState(rule: Rule): boolean {
  if (typeof rule === 'string') return rule === 'more';
  return rule.any !== undefined || typeof rule.text === 'object';
}

const HARMLESS = Meaning.unknown | Meaning.free | Meaning.schema | Meaning.type | Meaning.modelId | Meaning.threshold;
const READ = Meaning.limit | Meaning.thinking | Meaning.thinks | Meaning.term | Meaning.caches;

/** Returns why a parameter cannot change a member with this name, at any depth; `null` if it can. */
export function parameterBreach(name: string, action: ParameterAction): string | null {
  const folded = foldedName(name);
  const own = OWN.get(folded);
  if (own !== undefined) return own;
  if (STATE.has(folded)) return 'It can refer to state at the provider, which the gateway checks.';
  const readAgain = ACTIONS.get(folded);
  if (readAgain !== undefined) return readAgain.actions.includes(action) ? null : readAgain.why;
  const key = Buffer.from(name);
  const meaning = meaningOf(key, 0, key.length);
  if (!DECISIVE_BY_FOLDED.has(folded) && (meaning & ~(HARMLESS | READ)) === 0) return null;
  return 'It decides what the call contains or costs, so only the client can set it.';
}
