import type { ClientFormName, ProviderFormName } from '../../protocols/translation/pairs.ts';

/**
 * Requests with which the dialect of a provider is found. A chat provider is asked in messages and the other way round, because each
 * provider form is written from the same conversation, whichever client form it was read from.
 */

export const CLIENT_OF = { chat: 'messages', messages: 'chat' } as const satisfies Readonly<
  Record<ProviderFormName, ClientFormName>
>;

/** Leaves room for the least budget of reasoning, and for the answer behind it. Small models accept it, too. */
const OUTPUT_TOKENS = 4_096;

export interface TrialRequest {
  readonly prompt: string;
  /** `null`: the request says nothing about reasoning. */
  readonly reasons: boolean | null;
  readonly temperature?: number;
  /** Offers the tool of the trials. */
  readonly hasTool?: boolean;
  /** Asks for an answer of a JSON schema, which the prompt does not mention. */
  readonly hasSchema?: boolean;
  /** Turns behind the prompt, as the client would send them. */
  readonly turns?: readonly object[];
}

export const QUESTION = 'How many prime numbers are there between 20 and 40? Answer with the number.';
export const TOOL_QUESTION = 'Call the tool "add" once, with a = 2 and b = 3. Then say its result in one word.';
export const TOOL_RESULT = '5';

const TOOL = {
  name: 'add',
  description: 'Adds two integers.',
  schema: {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'integer' } },
    required: ['a', 'b'],
  },
};

/** A member that no model writes unless the schema requires it. */
export const SCHEMA_MEMBER = 'zq_count';
const SCHEMA = {
  type: 'object',
  properties: { [SCHEMA_MEMBER]: { type: 'integer' } },
  required: [SCHEMA_MEMBER],
  additionalProperties: false,
};

/** The body of a trial in the form of the client. */
export function trialBody(client: 'chat' | 'messages', model: string, request: TrialRequest): object {
  const { prompt, turns = [] } = request;
  const messages = [{ role: 'user', content: prompt }, ...turns];
  return { model, ...(client === 'messages' ? settingsInMessages(request) : settingsInChat(request)), messages };
}

function settingsInMessages({ reasons, temperature, hasTool, hasSchema }: TrialRequest): object {
  const config = {
    ...(reasons === true && { effort: 'medium' }),
    ...(hasSchema && { format: { type: 'json_schema', schema: SCHEMA } }),
  };
  return {
    max_tokens: OUTPUT_TOKENS,
    ...(temperature !== undefined && { temperature }),
    ...(reasons !== null && { thinking: { type: reasons ? 'adaptive' : 'disabled' } }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(hasTool && { tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema }] }),
  };
}

/** A higher effort than `low` would not leave an answer, if the provider has a budget. */
function settingsInChat({ reasons, temperature, hasTool }: TrialRequest): object {
  const { name, description, schema: parameters } = TOOL;
  return {
    max_completion_tokens: OUTPUT_TOKENS,
    ...(temperature !== undefined && { temperature }),
    ...(reasons !== null && { reasoning_effort: reasons ? 'low' : 'none' }),
    ...(hasTool && { tools: [{ type: 'function', function: { name, description, parameters } }] }),
  };
}
