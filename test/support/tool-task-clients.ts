import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AnthropicProviderOptions, createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI, type OpenAIResponsesProviderOptions } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, isStepCount, jsonSchema, type LanguageModel, type ModelMessage, streamText, tool } from 'ai';
import OpenAI from 'openai';

/** A task for a client: the model reads and writes files, and looks at a picture, until it has an answer. */
export interface ToolTask {
  /** Origin of the gateway, or of a proxy. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly directory: string;
  readonly prompt: string;
  readonly picture: string;
  readonly isStream: boolean;
}

/** A vendor's SDK, unmodified, with the loop of calls and results that its documents show. */
export interface ToolTaskClient {
  readonly name: string;
  readonly form: 'chat' | 'responses' | 'messages';
  /** Whether the SDK returns the model's reasoning with its signature. */
  readonly returnsReasoning: boolean;
  /** Returns the model's last words. */
  run(task: ToolTask): Promise<string>;
}

const READ = {
  name: 'read_file',
  description: 'Reads a file.',
  schema: { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] },
};
const WRITE = {
  name: 'write_file',
  description: 'Writes a file.',
  schema: {
    type: 'object' as const,
    properties: { path: { type: 'string' }, content: { type: 'string' } },
    required: ['path', 'content'],
  },
};
const TOOLS = [READ, WRITE];
const SYSTEM = 'You are a test.';
const TURNS_MAX = 10;

interface FileInput {
  readonly path: string;
  readonly content?: string;
}

/** What a tool did: a text, or the picture in base64. */
function useTool({ path, content }: FileInput): { readonly text: string } | { readonly png: string } {
  if (content !== undefined) {
    writeFileSync(path, content);
    return { text: 'written' };
  }
  return path.endsWith('.png') ? { png: readFileSync(path, 'base64') } : { text: readFileSync(path, 'utf8') };
}

const pngUrl = (png: string): string => `data:image/png;base64,${png}`;
const attached = ({ directory, picture }: ToolTask): string => readFileSync(join(directory, picture), 'base64');

const anthropic: ToolTaskClient = {
  name: 'anthropic-sdk',
  form: 'messages',
  returnsReasoning: true,
  async run({ url, key, model, prompt, isStream }) {
    const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }];
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const request = {
        model,
        max_tokens: 4096,
        system: SYSTEM,
        thinking: { type: 'enabled' as const, budget_tokens: 2048 },
        tools: TOOLS.map(({ schema, ...rest }) => ({ ...rest, input_schema: schema })),
        messages,
      };
      const { content } = isStream
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      const uses = content.filter((block) => block.type === 'tool_use');
      if (uses.length === 0) return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      messages.push({ role: 'assistant', content });
      messages.push({ role: 'user', content: uses.map(({ id, input }) => messagesResult(id, input as FileInput)) });
    }
    throw new Error('the model does not end');
  },
};

function messagesResult(tool_use_id: string, input: FileInput): Anthropic.ToolResultBlockParam {
  const used = useTool(input);
  const content =
    'text' in used
      ? used.text
      : [
          {
            type: 'image' as const,
            source: { type: 'base64' as const, media_type: 'image/png' as const, data: used.png },
          },
        ];
  return { type: 'tool_result', tool_use_id, content };
}

const openaiChat: ToolTaskClient = {
  name: 'openai-chat',
  form: 'chat',
  returnsReasoning: true,
  async run(task) {
    const { url, key, model, prompt, isStream } = task;
    const { completions } = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 }).chat;
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: SYSTEM },
      {
        role: 'user',
        content: [
          { type: 'text', text: prompt },
          { type: 'image_url', image_url: { url: pngUrl(attached(task)) } },
        ],
      },
    ];
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const request = {
        model,
        reasoning_effort: 'medium' as const,
        tools: TOOLS.map(({ schema, ...rest }) => ({
          type: 'function' as const,
          function: { ...rest, parameters: schema },
        })),
        messages,
      };
      const { choices } = isStream
        ? await completions.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion()
        : await completions.create(request);
      const { message } = choices[0]!;
      const calls = message.tool_calls ?? [];
      if (calls.length === 0) return message.content ?? '';
      messages.push(message);
      for (const call of calls) {
        if (call.type !== 'function') throw new Error(call.type);
        const used = useTool(JSON.parse(call.function.arguments) as FileInput);
        messages.push({ role: 'tool', tool_call_id: call.id, content: 'text' in used ? used.text : 'a picture' });
      }
    }
    throw new Error('the model does not end');
  },
};

const openaiResponses: ToolTaskClient = {
  name: 'openai-responses',
  form: 'responses',
  returnsReasoning: true,
  async run({ url, key, model, prompt, isStream }) {
    const { responses } = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: prompt }];
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const request = {
        model,
        instructions: SYSTEM,
        input,
        store: false,
        include: ['reasoning.encrypted_content' as const],
        reasoning: { effort: 'medium' as const, summary: 'auto' as const },
        tools: TOOLS.map(({ schema, ...rest }) => ({
          type: 'function' as const,
          ...rest,
          parameters: schema,
          strict: false,
        })),
      };
      const { output, output_text } = isStream
        ? await responses.stream(request).finalResponse()
        : await responses.create(request);
      const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      if (calls.length === 0) return output_text;
      input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
      for (const { call_id, arguments: args } of calls) {
        const used = useTool(JSON.parse(args) as FileInput);
        const result =
          'text' in used
            ? used.text
            : [{ type: 'input_image' as const, image_url: pngUrl(used.png), detail: 'auto' as const }];
        input.push({ type: 'function_call_output', call_id, output: result });
      }
    }
    throw new Error('the model does not end');
  },
};

const aiTools = Object.fromEntries(
  TOOLS.map(({ name, description, schema }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema<FileInput>(schema),
      execute: (input) => {
        const used = useTool(input);
        return 'text' in used ? used.text : 'a picture';
      },
    }),
  ]),
);

/** The AI SDK runs the loop itself. */
function aiSdk(
  name: string,
  form: ToolTaskClient['form'],
  returnsReasoning: boolean,
  modelFor: (task: ToolTask) => LanguageModel,
): ToolTaskClient {
  return {
    name: `ai-sdk-${name}`,
    form,
    returnsReasoning,
    async run(task) {
      const messages: ModelMessage[] = [
        {
          role: 'user',
          content: [
            { type: 'text', text: task.prompt },
            { type: 'file', data: Buffer.from(attached(task), 'base64'), mediaType: 'image/png' },
          ],
        },
      ];
      const options = {
        model: modelFor(task),
        messages,
        instructions: SYSTEM,
        tools: aiTools,
        stopWhen: isStepCount(TURNS_MAX),
        maxOutputTokens: 4096,
        maxRetries: 0,
        providerOptions: {
          openai: {
            reasoningEffort: 'medium',
            store: false,
            forceReasoning: true,
            include: ['reasoning.encrypted_content'],
          } satisfies OpenAIResponsesProviderOptions,
          anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } satisfies AnthropicProviderOptions,
        },
      };
      if (!task.isStream) return (await generateText(options)).text;
      const result = streamText({
        ...options,
        onError: ({ error }) => {
          throw error;
        },
      });
      await result.consumeStream();
      return result.text;
    },
  };
}

const openaiOf = ({ url, key }: ToolTask) => createOpenAI({ apiKey: key, baseURL: `${url}/v1` });

export const TOOL_TASK_CLIENTS: readonly ToolTaskClient[] = [
  anthropic,
  openaiChat,
  openaiResponses,
  aiSdk('anthropic', 'messages', true, ({ url, key, model }) =>
    createAnthropic({ apiKey: key, baseURL: `${url}/v1` })(model),
  ),
  aiSdk('openai-chat', 'chat', false, (task) => openaiOf(task).chat(task.model)),
  aiSdk('openai-responses', 'responses', true, (task) => openaiOf(task).responses(task.model)),
];
