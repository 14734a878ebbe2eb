import { chatBase, messagesBase, quoted } from '../../parts/calling/call-target.ts';
import { homeFile, keyInEnvironment } from './shells.ts';
import { type Client, type Operation, type Wanted, written } from './wanted.ts';

const KEY = 'FAREGATE_KEY';

/** Command-line coding agents, as tested by `npm run agents` (docs/agents.md). */
export const AGENTS: readonly Client[] = [
  agent(
    'Claude Code',
    'messages',
    { on: '2026-11-26', against: 'npm @anthropic-ai/claude-code 2.1.329, code.claude.com/docs/en/model-config' },
    (wanted) => [{ file: homeFile('.claude/settings.json', wanted.system), code: claudeCode(wanted) }],
  ),
  agent('Codex', 'responses', { on: '2026-11-22', against: 'npm @openai/codex 0.169.0' }, (wanted) => [
    keyInEnvironment(KEY, wanted),
    { file: homeFile('.codex/config.toml', wanted.system), code: codex(wanted) },
  ]),
  agent('opencode', 'chat', { on: '2026-11-22', against: 'npm opencode-ai 1.18.33' }, (wanted) => [
    keyInEnvironment(KEY, wanted),
    { file: homeFile('.config/opencode/opencode.json', wanted.system), code: opencode(wanted) },
  ]),
  agent('Qwen Code', 'chat', { on: '2026-11-22', against: 'npm @qwen-code/qwen-code 0.24.4' }, (wanted) => [
    keyInEnvironment(KEY, wanted),
    { file: homeFile('.qwen/settings.json', wanted.system), code: qwenCode(wanted) },
  ]),
];

function agent(name: string, operation: Operation, checked: Client['checked'], settings: Client['settings']): Client {
  return { name, operation, isLasting: true, checked, settings };
}

/** Model variables: of the agent, of each alias such as `--model sonnet`, and of its subagents. */
const CLAUDE_CODE_MODELS = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_DEFAULT_FABLE_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
] as const;

function claudeCode(wanted: Wanted): string {
  const { model, contextTokens } = wanted;
  return written({
    env: {
      ANTHROPIC_BASE_URL: messagesBase(wanted),
      ANTHROPIC_AUTH_TOKEN: wanted.key,
      ...Object.fromEntries(CLAUDE_CODE_MODELS.map((name) => [name, model])),
      ...(contextTokens === null ? {} : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextTokens) }),
    },
  });
}

function codex(wanted: Wanted): string {
  const window = wanted.contextTokens === null ? '' : `model_context_window = ${wanted.contextTokens}\n`;
  return `model = ${quoted(wanted.model)}
model_provider = "faregate"
${window}
[model_providers.faregate]
name = "Faregate"
base_url = ${quoted(chatBase(wanted))}
env_key = "FAREGATE_KEY"
wire_api = "responses"`;
}

function opencode(wanted: Wanted): string {
  const { model, contextTokens, outputTokens } = wanted;
  const limit =
    contextTokens !== null && outputTokens !== null ? { limit: { context: contextTokens, output: outputTokens } } : {};
  return written({
    $schema: 'https://opencode.ai/config.json',
    model: `faregate/${model}`,
    small_model: `faregate/${model}`,
    provider: {
      faregate: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Faregate',
        options: { baseURL: chatBase(wanted), apiKey: '{env:FAREGATE_KEY}' },
        models: { [model]: { name: model, ...limit } },
      },
    },
  });
}

function qwenCode(wanted: Wanted): string {
  const { model } = wanted;
  return written({
    security: { auth: { selectedType: 'openai' } },
    modelProviders: { openai: [{ id: model, name: model, envKey: 'FAREGATE_KEY', baseUrl: chatBase(wanted) }] },
    model: { name: model },
  });
}
