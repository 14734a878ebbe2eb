import type { ProtocolName } from '../protocols/all.ts';
import type { DialectConfig } from './dialect-schema.ts';

/** How a vendor differs from others of its protocols, as documented. Presets take their dialects from here. */
export interface VendorDialect {
  readonly title: string;
  /** Name of the preset; absent: there is none. */
  readonly preset?: string;
  /** Dialects by protocol, with the documented keys; an absent protocol: nothing is documented. */
  readonly dialects: Partial<Readonly<Record<ProtocolName, DialectConfig>>>;
  /** Addresses of the vendor for clients of other protocols, each as Markdown. They need no translation. */
  readonly native: readonly string[];
  /** What the dialect cannot express, or what depends on the model; each is a sentence. */
  readonly notes?: readonly string[];
  /** The documents that were read. */
  readonly sources: readonly string[];
}

/** When the documents were read. */
export const DIALECTS_READ_ON = '2026-11-30';

const RESPONSES = 'responses, at its chat address';
/** The documents that were read do not name the address. */
const RESPONSES_ELSEWHERE = 'responses (look up its address)';

export const vendorDialects: readonly VendorDialect[] = [
  {
    title: 'DeepSeek',
    preset: 'deepseek',
    dialects: { chat: { reasoning: 'thinking', replay: 'reasoning_content' } },
    native: ['messages `https://api.deepseek.com/anthropic`', RESPONSES_ELSEWHERE],
    notes: ['Tool calls without their reasoning are refused.'],
    sources: ['https://api-docs.deepseek.com/guides/thinking_mode.md'],
  },
  {
    title: 'GLM (Zhipu, Z.ai)',
    preset: 'zhipu',
    dialects: { chat: { reasoning: 'thinking', replay: 'reasoning_content' } },
    native: ['messages `https://open.bigmodel.cn/api/anthropic`'],
    notes: ['Efforts exist from GLM-5.2 on; `thinking` turns reasoning on and off only.'],
    sources: [
      'https://docs.z.ai/guides/capabilities/thinking-mode.md',
      'https://docs.rs/crate/opencrabs/0.5.1/source/src/brain/provider/glm_reasoning.rs for efforts (a client)',
    ],
  },
  {
    title: 'Kimi (Moonshot)',
    preset: 'moonshot',
    dialects: {
      chat: {
        reasoning: 'thinking',
        replay: 'reasoning_content',
        maxTokens: 'max_completion_tokens',
        drops: ['temperature', 'top_p'],
      },
    },
    native: ['messages `https://api.moonshot.cn/anthropic`'],
    notes: [
      'kimi-k3: `{ reasoning: effort, efforts: [low, high, max] }`.',
      'The moonshot-v1 models take a temperature.',
    ],
    sources: [
      'https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model.md',
      'https://java.agentscope.io/v2/en/integration/model/kimi for limits and sampling',
    ],
  },
  {
    title: 'Qwen (DashScope, Bailian)',
    preset: 'dashscope',
    dialects: { chat: { reasoning: 'enable_thinking' } },
    native: ['messages `https://dashscope.aliyuncs.com/apps/anthropic`', RESPONSES_ELSEWHERE],
    notes: ['Not documented for all models: `replay`.'],
    sources: ['https://help.aliyun.com/en/model-studio/deep-thinking'],
  },
  {
    title: 'Doubao (Volcengine Ark)',
    preset: 'volcengine-ark',
    dialects: { chat: { reasoning: 'thinking' } },
    native: [RESPONSES_ELSEWHERE],
    notes: ['Not documented: `replay`.'],
    sources: [
      'https://docs.rs/crate/model-gateway-rs/0.2.6/source/src/llm/doubao.rs (a client)',
      'https://www.volcengine.com/docs/6492/2241843 for responses',
    ],
  },
  {
    title: 'MiniMax',
    preset: 'minimax',
    dialects: { chat: { maxTokens: 'max_completion_tokens' } },
    native: ['messages `https://api.minimax.io/anthropic`'],
    notes: ['Without `reasoning_split`, which is not sent, reasoning is a part of the text and returns with it.'],
    sources: [
      'https://platform.minimax.io/docs/api-reference/text-openai-api',
      'https://java.agentscope.io/v2/en/integration/model/minimax for limits',
    ],
  },
  {
    title: 'StepFun',
    dialects: { chat: { reasoning: 'effort' } },
    native: ['messages `https://api.stepfun.ai`'],
    notes: ['Not documented: `replay`. Reasoning arrives in `reasoning`.'],
    sources: [
      'https://stepfun2.mintlify.app/en/guides/developer/reasoning',
      'https://stepfun2.mintlify.app/en/api-reference/chat/messages-create',
    ],
  },
  {
    title: 'Hunyuan (Tencent)',
    dialects: {},
    native: ['messages `https://api.hunyuan.cloud.tencent.com/anthropic`'],
    notes: ['Not documented: the whole dialect of the chat address.'],
    sources: [
      'https://cloud.tencent.com/document/product/1729/111007',
      'https://cloud.tencent.cn/document/product/1729/127293 for messages',
    ],
  },
  {
    title: 'SiliconFlow',
    preset: 'siliconflow',
    dialects: { chat: { reasoning: 'enable_thinking' } },
    native: ['messages `https://api.siliconflow.cn`'],
    notes: ['Its examples return the text of an answer without its reasoning.'],
    sources: [
      'https://docs.siliconflow.cn/cn/userguide/capabilities/reasoning',
      'https://docs.siliconflow.cn/cn/api-reference/chat-completions/messages.md',
    ],
  },
  {
    title: 'OpenRouter',
    preset: 'openrouter',
    dialects: { chat: { reasoning: 'openrouter', replay: 'reasoning_details' } },
    native: ['messages (look up its address)', `${RESPONSES} (beta)`],
    sources: [
      'https://openrouter.ai/docs/use-cases/reasoning-tokens.md',
      'https://hexdocs.pm/openrouter_sdk/OpenrouterSdk.Api.Messages.html for messages (a client)',
      'https://openrouter.ai/docs/api_reference/responses/reasoning',
    ],
  },
  {
    title: 'OpenAI',
    preset: 'openai',
    dialects: {
      chat: {
        reasoning: 'effort',
        maxTokens: 'max_completion_tokens',
        takes: [
          ...['user', 'safety_identifier', 'seed', 'prompt_cache_key', 'frequency_penalty', 'presence_penalty'],
          ...['verbosity', 'prediction', 'metadata', 'store', 'strict', 'json_schema'],
        ],
      },
    },
    native: [RESPONSES],
    notes: [
      'Models differ in their efforts; those without reasoning need `{ reasoning: none }` at their route, and some with reasoning `{ drops: [temperature, top_p] }`.',
    ],
    sources: ['the npm package openai 7.55.0'],
  },
  {
    title: 'Anthropic',
    preset: 'anthropic',
    dialects: {
      messages: { thinking: 'adaptive', promptCache: 'auto' },
    },
    native: [],
    notes: ['Models differ in their efforts. Models before Claude 4.6 need `{ thinking: budget }` at their route.'],
    sources: [
      'the npm package @anthropic-ai/sdk 1.11.0',
      'https://pydantic.dev/docs/ai/advanced-features/thinking for models',
    ],
  },
  {
    title: 'Gemini, the compatible address',
    preset: 'google',
    dialects: {},
    native: [],
    notes: [
      'Not documented: the dialect.',
      'Gemini 3 refuses tool calls without their thought signatures, which the translation does not keep: use other models for agents.',
    ],
    sources: [
      'https://ai.google.dev/gemini-api/docs/openai.md.txt',
      'https://ai.google.dev/gemini-api/docs/thought-signatures',
    ],
  },
  {
    title: 'xAI',
    preset: 'xai',
    dialects: { chat: { reasoning: 'effort', efforts: ['none', 'low', 'medium', 'high'] } },
    native: [RESPONSES_ELSEWHERE],
    notes: [
      'These are the efforts of grok-4.3; others refuse the field: `{ reasoning: none }`. Not documented: `replay`.',
    ],
    sources: ['https://newreleases.io/project/github/vercel/ai/release/@ai-sdk%2Fxai@4.0.0-canary.61 (a client)'],
  },
  {
    title: 'Mistral',
    preset: 'mistral',
    dialects: { chat: { reasoning: 'effort', efforts: ['none', 'high'] } },
    native: [],
    notes: [
      'Earlier reasoning would be a part of `content`, which no value of `replay` writes. Only some models have efforts.',
    ],
    sources: [
      'https://docs.mistral.ai/resources/cookbooks/mistral-reasoning',
      'https://socket.dev/npm/package/@ai-sdk/mistral/diff/4.0.0-beta.8 (a client)',
    ],
  },
  {
    title: 'Groq',
    preset: 'groq',
    dialects: { chat: { reasoning: 'effort' } },
    native: ['responses (beta; look up its address)'],
    notes: ['Not documented: `replay`. Efforts depend on the model.'],
    sources: [
      'https://reference.langchain.com/python/langchain-groq/chat_models/ChatGroq/reasoning_effort (a client)',
      'https://www.promptfoo.dev/docs/providers/groq for responses (a client)',
    ],
  },
  {
    title: 'Together',
    dialects: { chat: { reasoning: 'effort', efforts: ['low', 'medium', 'high', 'max'] } },
    native: [RESPONSES],
    notes: ['These are the efforts of GLM-5.3. Not documented: `replay`.'],
    sources: [
      'https://docs.together.ai/docs/glm-5.3-quickstart',
      'https://docs.together.ai/docs/inference/responses-api',
    ],
  },
  {
    title: 'Fireworks',
    dialects: { chat: { reasoning: 'effort' } },
    native: ['messages `https://api.fireworks.ai/inference`', RESPONSES],
    notes: ['Not documented: `replay`. Reasoning arrives in `reasoning_content`.'],
    sources: [
      'https://docs.fireworks.ai/guides/reasoning.md',
      'https://docs.fireworks.ai/tools-sdks/anthropic-compatibility.md',
    ],
  },
  {
    title: 'Ollama',
    preset: 'ollama',
    dialects: { chat: { reasoning: 'effort', takes: ['seed', 'frequency_penalty', 'presence_penalty'] } },
    native: ['messages `http://127.0.0.1:11434`', RESPONSES],
    notes: ['Efforts depend on the model. Not documented: `replay`.'],
    sources: [
      'https://docs.ollama.com/api/openai-compatibility',
      'https://docs.ollama.com/api/anthropic-compatibility.md',
    ],
  },
  {
    title: 'vLLM',
    preset: 'vllm',
    dialects: { chat: { reasoning: 'template', takes: ['top_k'] } },
    native: ['messages `http://127.0.0.1:8000`', RESPONSES],
    notes: [
      'Templates differ: those of DeepSeek-V3.1 and Granite read `thinking`, which is not sent. Not documented: `replay`.',
    ],
    sources: [
      'https://docs.vllm.ai/en/stable/features/reasoning_outputs/',
      'https://docs.vllm.ai/en/stable/serving/online_serving.html',
    ],
  },
  {
    title: 'SGLang',
    preset: 'sglang',
    dialects: { chat: { reasoning: 'template' } },
    native: ['messages `http://127.0.0.1:30000`'],
    notes: ['Templates differ: that of DeepSeek-V3 reads `thinking`, which is not sent. Not documented: `replay`.'],
    sources: [
      'https://docs.sglang.io/docs/advanced_features/separate_reasoning.md',
      'https://docs.sglang.io/docs/basic_usage/anthropic_api.md',
    ],
  },
  {
    title: 'llama.cpp',
    dialects: {
      chat: { reasoning: 'effort', efforts: ['none', 'low', 'medium', 'high'], replay: 'reasoning_content' },
    },
    native: ['messages, at `/v1/messages` of the server', RESPONSES],
    notes: ['Some templates use earlier reasoning; the others ignore it.'],
    sources: ['https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md'],
  },
];

/** The documented dialect of a preset; `null`: there is none. */
export function dialectOfPreset(name: string, protocol: ProtocolName): DialectConfig | null {
  return vendorDialects.find(({ preset }) => preset === name)?.dialects[protocol] ?? null;
}
