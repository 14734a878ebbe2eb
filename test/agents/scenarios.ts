import { MODEL, type PlanId, THINKER, VENDORS } from './gateway.ts';
import { DONE, type Fault, type Signing } from './model.ts';
import { type AgentName, type Context, replaced, USED_UP } from './page.ts';
import type { Target } from './translated-model.ts';
import { TRANSLATED_SCENARIOS } from './translated-scenarios.ts';

/** A scenario for an agent, and its expected outcome. */
export interface Scenario {
  readonly agent: AgentName;
  /** Its row in the table in `docs/agents.md`. */
  readonly event: string;
  readonly context: Context;
  readonly plan?: PlanId;
  readonly balanceYuan?: string;
  readonly isKeyRevoked?: boolean;
  /** Another program's call with the same key is in flight until the agent has been refused once. */
  readonly isBusy?: boolean;
  /** The provider's failure in the call with this number, from 0. */
  readonly fault?: (call: number) => Fault | null;
  /** Two vendors serve the model, which thinks. */
  readonly signing?: Signing;
  /** Whether the agent runs a second time with the same prompt, to continue the conversation. */
  readonly isContinued?: boolean;
  /** Files of 23 KB that the model reads first. */
  readonly files?: number;
  /** By default the task. */
  readonly prompt?: string;
  /** Time limit of the agent, if it is not the usual one. */
  readonly limitMs?: number;
  /** The provider speaks another protocol than the agent. */
  readonly translation?: Translation;
  /** Changes to the settings on the page. */
  readonly change?: (settings: string) => string;
  readonly expected: Expected;
  /** The text of the table in `docs/agents.md`. */
  readonly behaviour: string;
}

/** A model that only a provider of another protocol serves. */
export interface Translation {
  readonly target: Target;
  readonly model: string;
  /** Whether Codex has metadata of the model. */
  readonly isKnown: boolean;
  /** Whether the provider refuses its turns without their reasoning. */
  readonly needsReasoning: boolean;
  /** All members that the agent's requests lost and got. */
  readonly leftOut: readonly string[];
  readonly added: readonly string[];
}

export interface Expected {
  readonly exitCode: 0 | 1;
  /** The agent's last message contains this. */
  readonly said: string;
  /** The status of each of the agent's calls, in order. If there is another program, its call is the first one. */
  readonly statuses: readonly number[];
  /** Other requests of the agent, in order, such as `GET /v1/responses 426`. */
  readonly others?: readonly string[];
  /** Other addresses that the agent tries to reach; by default none. */
  readonly outside?: readonly string[];
  /** Number of calls that reached the providers. */
  readonly provided: number;
  /** Whether the file has the right contents. */
  readonly isFileRight: boolean;
  /** Number of calls that asked for a summary of the conversation. */
  readonly summaries?: number;
  /** The calls, from 0, that were not streams. */
  readonly wholeCalls?: readonly number[];
  /** The vendor of each call, as in `Model.vendors`. */
  readonly vendors?: readonly string[];
  /** The body of each call contains this. */
  readonly sent?: string;
  /** Whether Codex warns about missing metadata of the model; by default it does. */
  readonly isWarned?: boolean;
}

const done = { exitCode: 0, said: DONE, isFileRight: true } as const;
const notBegun = { exitCode: 1, provided: 0, isFileRight: false } as const;

const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const TOO_LONG_MESSAGE = 'prompt is too long: 210000 tokens > 200000 maximum';
const TOO_LONG = { type: 'error', error: { type: 'invalid_request_error', message: TOO_LONG_MESSAGE } };

/** The second call, in the middle of the task, fails. */
const second =
  (fault: Fault) =>
  (call: number): Fault | null =>
    call === 1 ? fault : null;

const codex = (scenario: Omit<Scenario, 'agent'>): Scenario => ({ agent: 'Codex', ...scenario });
const claudeCode = (scenario: Omit<Scenario, 'agent'>): Scenario => ({ agent: 'Claude Code', ...scenario });
const qwenCode = (scenario: Omit<Scenario, 'agent'>): Scenario => ({ agent: 'Qwen Code', ...scenario });
const opencode = (scenario: Omit<Scenario, 'agent'>): Scenario => ({ agent: 'opencode', ...scenario });
const cline = (scenario: Omit<Scenario, 'agent'>): Scenario => ({ agent: 'Cline', ...scenario });
const continueCli = (scenario: Omit<Scenario, 'agent'>): Scenario => ({ agent: 'Continue', ...scenario });

const onBalance = { context: 'balance', balanceYuan: '100' } as const;
const tries = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

/** A conversation of six calls, continued by a seventh in another run, with a model of two vendors. */
const thinking = {
  ...onBalance,
  files: 3,
  isContinued: true,
  change: (settings: string) => replaced(settings, MODEL, THINKER),
};
const at = (...vendors: readonly string[]) => ({
  ...done,
  statuses: tries(7, 200),
  provided: vendors.length,
  vendors,
});
const repeated = <Each>(count: number, ...each: readonly Each[]): Each[] =>
  Array.from({ length: count }, () => each).flat();

const USED_UP_MESSAGE =
  'The Coding Plan reached its limit of calls per five hours. This quota is exhausted and will reset at ';
/** For agents that repeat the call at growing intervals. */
const patient = { context: 'coding', plan: 'no-calls', limitMs: 300_000 } as const;

export const SCENARIOS: readonly Scenario[] = [
  ...TRANSLATED_SCENARIOS,
  ...[codex, claudeCode].flatMap((agent) => [
    agent({
      event: 'the task, on the balance',
      ...onBalance,
      expected: { ...done, statuses: [200, 200, 200], provided: 3 },
      behaviour: 'done in three calls',
    }),
    agent({
      event: 'the task, on the Coding Plan',
      context: 'coding',
      plan: 'roomy',
      expected: { ...done, statuses: [200, 200, 200], provided: 3 },
      behaviour: 'done in three calls',
    }),
  ]),

  claudeCode({
    event: 'the task, at `/altproto` with the key in `ANTHROPIC_API_KEY`',
    context: 'coding',
    plan: 'roomy',
    change: (settings) =>
      replaced(replaced(settings, '/altproto/coding"', '/altproto"'), 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY'),
    expected: { ...done, statuses: [200, 200, 200], provided: 3, sent: '"max_tokens":32000' },
    behaviour: 'done in three calls',
  }),
  claudeCode({
    event: 'the task, with `CLAUDE_CODE_MAX_OUTPUT_TOKENS` of 64,000',
    ...onBalance,
    change: (settings) => replaced(settings, '"env": {', '"env": { "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "64000",'),
    expected: { ...done, statuses: [200, 200, 200], provided: 3, sent: '"max_tokens":64000' },
    behaviour: 'asks for up to 64,000 tokens, not 32,000',
  }),
  codex({
    event: 'the task, with `model_catalog_json = "models.json"`',
    ...onBalance,
    change: (settings) => `model_catalog_json = "models.json"\n${settings}`,
    expected: { ...done, statuses: [200, 200, 200], provided: 3, isWarned: false },
    behaviour: 'does not warn that it has no metadata of the model',
  }),
  codex({
    event: 'conversation beyond `model_auto_compact_token_limit`',
    ...onBalance,
    change: (settings) => `model_auto_compact_token_limit = 1500\n${settings}`,
    expected: { ...done, statuses: [200, 200, 200, 200, 200], provided: 5, summaries: 2 },
    behaviour: 'compacts with a normal call and continues',
  }),

  ...[codex, claudeCode].flatMap((agent) => [
    ...VENDORS.map((signer) =>
      agent({
        event: 'two providers sign the thinking',
        ...thinking,
        // Only the first call has no choice of vendor.
        signing: { drained: (call) => (call > 0 ? null : signer === 'acme' ? 'zenith' : 'acme') },
        expected: at(...repeated(7, signer)),
        behaviour: 'each conversation stays with its signer',
      }),
    ),
    agent({
      event: 'the signer is drained, the other provider refuses the signature',
      ...thinking,
      signing: { drained: (call) => (call === 0 ? 'zenith' : call < 3 ? null : 'acme') },
      expected: at(...repeated(3, 'acme'), ...repeated(4, 'zenith refuses', 'acme')),
      behaviour: 'continues with the signer',
    }),
    agent({
      event: 'the signer is drained, the other provider accepts the signature',
      ...thinking,
      signing: { drained: (call) => (call === 0 ? 'acme' : call === 3 ? 'zenith' : null), lenient: 'acme' },
      expected: at(...repeated(3, 'zenith'), ...repeated(4, 'acme')),
      behaviour: 'continues with the other provider, and stays there',
    }),
  ]),

  codex({
    event: 'no balance: 402',
    context: 'balance',
    expected: { ...notBegun, said: 'The balance is used up', statuses: tries(6, 402) },
    behaviour: 'tries six times in about seven seconds, ends with the message',
  }),
  codex({
    event: 'no balance: 402, with `stream_max_retries = 0`',
    context: 'balance',
    change: (settings) => replaced(settings, 'wire_api', 'stream_max_retries = 0\nwire_api'),
    expected: { ...notBegun, said: 'The balance is used up', statuses: [402] },
    behaviour: 'ends at once with the message',
  }),
  claudeCode({
    event: 'no balance: 402',
    context: 'balance',
    expected: { ...notBegun, said: 'API Error: 402 The balance is used up', statuses: [402] },
    behaviour: 'ends at once with the message',
  }),

  codex({
    event: USED_UP,
    context: 'coding',
    plan: 'two-calls',
    expected: {
      exitCode: 1,
      said: 'hit your usage limit',
      statuses: [200, 200, 429],
      provided: 2,
      isFileRight: true,
    },
    behaviour: 'ends at once with “You’ve hit your usage limit” and the time',
  }),
  claudeCode({
    event: USED_UP,
    context: 'coding',
    plan: 'two-calls',
    expected: {
      exitCode: 1,
      said: `Request rejected (429) · ${USED_UP_MESSAGE}`,
      statuses: [200, 200, 429],
      provided: 2,
      isFileRight: true,
    },
    behaviour: 'ends at once with the message',
  }),
  qwenCode({
    event: USED_UP,
    context: 'coding',
    plan: 'no-calls',
    expected: { ...notBegun, said: `Quota exhausted: ${USED_UP_MESSAGE}`, statuses: [429] },
    behaviour: 'ends at once with the message',
  }),
  opencode({
    event: USED_UP,
    ...patient,
    // Three of them are for the title of the session.
    expected: {
      ...notBegun,
      said: USED_UP_MESSAGE,
      statuses: tries(9, 429),
      outside: ['CONNECT registry.npmjs.org:443'],
    },
    behaviour: 'ends with the message after about 75 seconds',
  }),
  cline({
    event: USED_UP,
    ...patient,
    expected: { ...notBegun, said: USED_UP_MESSAGE, statuses: tries(6, 429), outside: ['CONNECT data.cline.bot:443'] },
    behaviour: 'ends with the message after about 65 seconds',
  }),
  continueCli({
    event: USED_UP,
    ...patient,
    expected: { ...notBegun, said: USED_UP_MESSAGE, statuses: tries(11, 429) },
    behaviour: 'ends with the message after about 100 seconds',
  }),

  ...[codex, claudeCode].map((agent) =>
    agent({
      event: 'more calls at a time than the plan allows: 429',
      context: 'coding',
      plan: 'one-at-a-time',
      isBusy: true,
      expected: { ...done, statuses: [200, 429, 200, 200, 200], provided: 4, wholeCalls: [0] },
      behaviour: 'waits as long as `retry-after` says and repeats the call',
    }),
  ),

  codex({
    event: 'key revoked: 401',
    ...onBalance,
    isKeyRevoked: true,
    expected: { ...notBegun, said: 'The API key has been revoked.', statuses: tries(6, 401) },
    behaviour: 'tries six times in about seven seconds, ends with the message',
  }),
  claudeCode({
    event: 'key revoked: 401',
    ...onBalance,
    isKeyRevoked: true,
    expected: { ...notBegun, said: '401 The API key has been revoked.', statuses: [401] },
    behaviour: 'ends at once with the message',
  }),

  codex({
    event: 'first request larger than the plan allows: 413',
    context: 'coding',
    plan: 'no-room',
    expected: { ...notBegun, said: 'prompt is too long', statuses: tries(6, 413) },
    behaviour: 'tries six times in about seven seconds, ends with the message',
  }),
  claudeCode({
    event: 'first request larger than the plan allows: 413',
    context: 'coding',
    plan: 'no-room',
    expected: { ...notBegun, said: 'Prompt is too long', statuses: [413] },
    behaviour: 'ends at once with “Prompt is too long”',
  }),
  claudeCode({
    event: 'conversation larger than the plan allows: 413',
    context: 'coding',
    plan: 'little-room',
    files: 3,
    expected: {
      ...done,
      // The agent summarises the conversation and continues the task.
      statuses: [200, 200, 200, 413, 200, 200, 200, 200],
      others: ['POST /altproto/coding/v1/messages/count_tokens?beta=true 200'],
      provided: 7,
      summaries: 1,
    },
    behaviour: 'compacts the conversation and continues',
  }),

  codex({
    event: 'provider: prompt is too long, 400',
    ...onBalance,
    fault: second({ kind: 'refuse', status: 400, body: TOO_LONG }),
    expected: { exitCode: 1, said: TOO_LONG_MESSAGE, statuses: [200, 400], provided: 2, isFileRight: true },
    behaviour: 'ends at once with the message',
  }),
  claudeCode({
    event: 'provider: prompt is too long, 400',
    ...onBalance,
    fault: second({ kind: 'refuse', status: 400, body: TOO_LONG }),
    expected: { ...done, statuses: [200, 400, 200, 200, 200], provided: 5, summaries: 1 },
    behaviour: 'compacts the conversation and continues',
  }),

  codex({
    event: 'provider: overloaded, 529',
    ...onBalance,
    fault: second({ kind: 'refuse', status: 529, body: OVERLOADED }),
    expected: { ...done, statuses: [200, 529, 200, 200], provided: 4 },
    behaviour: 'repeats the call',
  }),
  claudeCode({
    event: 'provider: overloaded, 529',
    ...onBalance,
    fault: second({ kind: 'refuse', status: 529, body: OVERLOADED }),
    expected: { ...done, statuses: [200, 529, 200, 200], provided: 4 },
    behaviour: 'repeats the call',
  }),

  codex({
    event: 'provider breaks the stream off inside an item',
    ...onBalance,
    fault: second({ kind: 'break', at: 'inside' }),
    expected: { ...done, statuses: [200, 200, 200, 200], provided: 4 },
    behaviour: 'repeats the call; both are charged',
  }),
  claudeCode({
    event: 'provider breaks the stream off inside an item',
    ...onBalance,
    fault: second({ kind: 'break', at: 'inside' }),
    expected: { ...done, statuses: [200, 200, 200, 200], provided: 4, wholeCalls: [2] },
    behaviour: 'repeats the call without streaming; both are charged',
  }),
  codex({
    event: 'provider breaks the stream off after an item',
    ...onBalance,
    fault: second({ kind: 'break', at: 'behind' }),
    expected: { ...done, statuses: [200, 200, 200], provided: 3 },
    behaviour: 'continues with the item',
  }),
  claudeCode({
    event: 'provider breaks the stream off after an item',
    ...onBalance,
    fault: second({ kind: 'break', at: 'behind' }),
    expected: { ...done, statuses: [200, 200, 200], provided: 3 },
    behaviour: 'continues with the item',
  }),

  ...(['balance', 'coding'] as const).map((context) =>
    claudeCode({
      event: context === 'balance' ? '`/context`, on the balance' : '`/context`, on the Coding Plan',
      context,
      ...(context === 'balance' ? { balanceYuan: '100' } : { plan: 'roomy' }),
      prompt: '/context',
      change: (settings) =>
        replaced(settings, '"env": {', '"env": { "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY": "1",'),
      expected: {
        exitCode: 0,
        // The context size in the settings.
        said: ' / 200k (',
        statuses: [],
        others:
          context === 'balance'
            ? ['GET /v1/models?limit=1000 200', 'POST /v1/messages/count_tokens?beta=true 200']
            : [
                'GET /altproto/coding/v1/models?limit=1000 200',
                'POST /altproto/coding/v1/messages/count_tokens?beta=true 200',
              ],
        provided: 0,
        isFileRight: false,
      },
      behaviour: 'lists models and counts tokens, free of charge',
    }),
  ),
  codex({
    event: '`supports_websockets = true`: 426',
    ...onBalance,
    change: (settings) =>
      replaced(settings, 'wire_api = "responses"', 'wire_api = "responses"\nsupports_websockets = true'),
    expected: { ...done, statuses: [200, 200, 200], provided: 3, others: ['GET /v1/responses 426'] },
    behaviour: 'falls back to plain calls',
  }),
];
