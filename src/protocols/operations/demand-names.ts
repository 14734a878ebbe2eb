import { foldedName } from '../../lib/folded-name.ts';
import { MemberNames } from '../../lib/json/member-names.ts';
import { serviceTerms, type TermName, termNames } from '../metering/service-terms.ts';
import { CONTROL_FIELDS } from '../token-estimate/count-body.ts';

/** How members affect the cost of a call, for all vendors. The values are bits, because a name can have several meanings. */
export const Meaning = {
  content: 1 << 0,
  tools: 1 << 1,
  toolServers: 1 << 2,
  /** Data for the client. The model does not read it. */
  free: 1 << 3,
  prediction: 1 << 4,
  more: 1 << 5,
  ownModel: 1 << 6,
  /** Another model's name, a list of names, or objects with a name. */
  models: 1 << 7,
  /** Like `models`, except that keys of the object can also be names of models. */
  modelMap: 1 << 8,
  modelId: 1 << 9,
  limit: 1 << 10,
  thinking: 1 << 11,
  choices: 1 << 12,
  /** The name has a meaning only near the top level. For short names. */
  nearTop: 1 << 13,
  toolCalls: 1 << 14,
  thinks: 1 << 15,
  /** Asks for a web search without a tool. */
  search: 1 << 16,
  /** Like `search`, but only at the top level: tools have a setting of the same name (Baidu, Doubao, Hunyuan). */
  searchAtTop: 1 << 17,
  term: 1 << 18,
  modalities: 1 << 19,
  audio: 1 << 20,
  caches: 1 << 21,
  /** A schema, whose member names can be anything. */
  schema: 1 << 22,
  /** In a function, this is a schema. At the top level and in a provider tool, it is settings. */
  parameters: 1 << 23,
  type: 1 << 24,
  maxUses: 1 << 25,
  /** Settings by which the provider may summarize a long input. */
  contextManagement: 1 << 26,
  trigger: 1 << 27,
  threshold: 1 << 28,
  /** Repeats tools that another member offers. */
  toolChoice: 1 << 29,
  unknown: 1 << 30,
} as const;

const NAMES: readonly (readonly [meaning: number, names: readonly string[]])[] = [
  [Meaning.content, ['messages', 'input', 'system', 'prompt', 'instructions', 'documents', 'query', 'contents']],
  [Meaning.tools, ['*tools']],
  [Meaning.toolServers, ['mcp_servers', 'plugins']],
  [Meaning.free, ['metadata', 'client_metadata', 'litellm_metadata', 'user', 'logit_bias', 'functions', 'stop']],
  [Meaning.prediction, ['prediction']],
  [Meaning.more, ['extra_body']],
  [Meaning.ownModel, ['model']],
  [Meaning.models, ['*model', '*model_name', '*model_id', 'deployment_id']],
  [
    Meaning.models | Meaning.modelMap,
    ['*models', '*model_names', '*model_ids', '*model_list', '*fallback', '*fallbacks', '*fallback_dict'],
  ],
  [Meaning.modelId, ['id', 'name', 'slug']],
  [
    Meaning.limit,
    [
      ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_new_tokens', 'max_generated_tokens'],
      ...['max_gen_tokens', 'num_predict', 'n_predict', 'budget_tokens'],
    ],
  ],
  [
    Meaning.thinking,
    [
      ...['thinking_budget', 'thinking_token_budget', 'thinking_budget_tokens', 'max_thinking_tokens'],
      ...['max_reasoning_tokens', 'reasoning_budget'],
    ],
  ],
  [Meaning.choices, ['best_of', 'num_return_sequences', 'candidate_count']],
  [Meaning.choices | Meaning.nearTop, ['n']],
  [Meaning.toolCalls, ['max_tool_calls']],
  [Meaning.thinks, ['enable_thinking']],
  [Meaning.search, ['web_search_options', 'enable_search', 'search_parameters']],
  [Meaning.searchAtTop, ['web_search', 'enable_enhancement', 'force_search_enhancement']],
  [Meaning.term, termNames.map((name) => serviceTerms[name].member)],
  [Meaning.modalities, ['modalities', 'response_modalities', 'output_modalities']],
  [Meaning.audio, ['audio']],
  [Meaning.caches, ['cache_control', 'prompt_cache_breakpoint']],
  [
    Meaning.schema,
    [
      ...['schema', 'json_schema', 'input_schema', 'output_schema', 'properties', 'function', '$defs', 'definitions'],
      ...['guided_json', 'guided_grammar', 'structured_outputs', 'grammar', 'examples', 'input_examples', 'metadata'],
      'headers',
    ],
  ],
  [Meaning.parameters, ['parameters']],
  [Meaning.type, ['type']],
  [Meaning.maxUses, ['max_uses']],
  [Meaning.contextManagement, ['context_management']],
  [Meaning.trigger, ['trigger']],
  [Meaning.toolChoice, ['tool_choice']],
  [Meaning.threshold, ['value', 'compact_threshold']],
  // Settings that do not affect the cost. They can also be in a list of models.
  [
    0,
    [
      ...Object.values(CONTROL_FIELDS).flatMap((names) => [...names]),
      ...['thinking', 'reasoning', 'text', 'effort', 'display', 'output_config', 'output_format', 'response_format'],
    ],
  ],
];

const meanings = new Map<string, number>();
for (const [meaning, names] of NAMES) {
  for (const name of names) meanings.set(name, (meanings.get(name) ?? 0) | meaning);
}
for (const [suffix, meaning] of [...meanings].filter(([name]) => name.startsWith('*'))) {
  for (const [name, own] of meanings) {
    if (foldedName(name).endsWith(foldedName(suffix.slice(1)))) meanings.set(name, own | meaning);
  }
}

const KEYS = new MemberNames(...meanings.keys());
const MEANINGS = Int32Array.from(meanings.values());

/** Returns the meanings of a key as bits. `bytes[start, end)` is the key without quotes. */
export function meaningOf(bytes: Buffer, start: number, end: number): number {
  const index = KEYS.find(bytes, start, end);
  return index === -1 ? Meaning.unknown : MEANINGS[index]!;
}

const termsByMember = new Map<string, TermName>(termNames.map((name) => [serviceTerms[name].member, name]));
const TERMS = new MemberNames(...termsByMember.keys());

export function termOf(bytes: Buffer, start: number, end: number): TermName {
  return termsByMember.get(TERMS.names[TERMS.find(bytes, start, end)]!)!;
}
