import { MODEL, TRANSLATED } from './gateway.ts';
import { DONE } from './model.ts';
import { type AgentName, replaced } from './page.ts';
import type { Scenario, Translation } from './scenarios.ts';

interface Run extends Pick<Translation, 'target' | 'leftOut' | 'added'> {
  readonly agent: AgentName;
  readonly isKnown?: boolean;
  /** Number of calls besides those of the task. */
  readonly otherCalls?: number;
  readonly needsReasoning?: boolean;
  /** Other addresses that the agent tries to reach. */
  readonly outside?: readonly string[];
  /** Changes to the settings on the page, besides the name of the model. */
  readonly change?: (settings: string) => string;
}

/** An agent whose model only a provider of another protocol serves. It runs twice: the second run continues the conversation. */
function translated(run: Run): Scenario {
  const {
    agent,
    target,
    leftOut,
    added,
    isKnown = false,
    otherCalls = 0,
    needsReasoning = true,
    outside = [],
    change,
  } = run;
  const model = TRANSLATED[target][isKnown ? 'known' : 'model'];
  const calls = 5 + otherCalls;
  return {
    agent,
    event: `translated to ${target}${isKnown ? `, with ${model}` : ''}`,
    context: 'balance',
    balanceYuan: '100',
    isContinued: true,
    translation: { target, model, isKnown, needsReasoning, leftOut, added },
    change: (settings) => replaced(change?.(settings) ?? settings, MODEL, model),
    expected: {
      exitCode: 0,
      said: DONE,
      isFileRight: true,
      statuses: Array.from({ length: calls }, () => 200),
      provided: calls,
      isWarned: !isKnown,
      outside,
    },
    behaviour: '',
  };
}

/** Sections that let agents show pictures to the model, and let the model reason. */
const qwenModel = (settings: string): string =>
  replaced(
    replaced(settings, '"name": "Acme Coder",', `"name": "Acme Coder", "generationConfig": ${QWEN_GENERATION},`),
    '"general": {',
    '"memory": { "enableManagedAutoMemory": false },\n  "general": {',
  );
const QWEN_GENERATION = '{ "modalities": { "image": true }, "extra_body": { "reasoning_effort": "medium" } }';
const opencodeModel = (settings: string): string =>
  replaced(settings, '"name": "Acme Coder",', `"name": "Acme Coder", ${OPENCODE_MODEL},`);
const OPENCODE_MODEL =
  '"modalities": { "input": ["text", "image"], "output": ["text"] }, "options": { "reasoningEffort": "medium" }';
const codexEffort = (settings: string): string => `model_reasoning_effort = "medium"\n${settings}`;

export const TRANSLATED_SCENARIOS: readonly Scenario[] = [
  translated({
    agent: 'Claude Code',
    target: 'chat',
    leftOut: [
      'tools[10].defer_loading',
      'system',
      'context_management',
      'reasoning.effort',
      'metadata.user_id',
      'messages[].content[].cache_control',
    ],
    added: [],
  }),
  translated({
    agent: 'Codex',
    target: 'chat',
    leftOut: ['tools[4].description', 'tools[8](web_search)', 'client_metadata', 'prompt_cache_key'],
    added: [],
  }),
  translated({
    agent: 'Codex',
    target: 'chat',
    isKnown: true,
    leftOut: [
      'tools[9](web_search)',
      'client_metadata',
      'reasoning.effort',
      'prompt_cache_key',
      'text.verbosity',
      'input[].tools[].description',
      'input[].tools[].tools[].defer_loading',
      'input[].output[].detail',
    ],
    added: [],
  }),
  translated({
    agent: 'Codex',
    target: 'messages',
    leftOut: ['tools[4].description', 'tools[8](web_search)', 'client_metadata', 'input[].output[].detail'],
    added: ['cache_control'],
    change: codexEffort,
  }),
  translated({
    agent: 'Codex',
    target: 'messages',
    isKnown: true,
    // It starts another agent.
    otherCalls: 1,
    leftOut: ['input[].tools[].description', 'reasoning.context', 'client_metadata', 'text.verbosity'],
    added: ['cache_control'],
  }),
  translated({
    agent: 'Qwen Code',
    target: 'messages',
    needsReasoning: false,
    leftOut: ['reasoning'],
    added: ['cache_control'],
    change: qwenModel,
  }),
  translated({
    agent: 'opencode',
    target: 'messages',
    // It asks for a title of the session.
    otherCalls: 1,
    needsReasoning: false,
    outside: ['CONNECT registry.npmjs.org:443'],
    leftOut: ['reasoning'],
    added: ['cache_control'],
    change: opencodeModel,
  }),
];
