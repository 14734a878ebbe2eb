import { z } from 'zod';

/** This file has schemas of chat, embeddings and rerank (contract 4.1, 4.2) as vendors document them. Other fields are allowed. */

const model = z
  .string()
  .min(1)
  .meta({ description: 'The id of a model, or an alias.', examples: ['test-chat'] });
const tokens = z.int().min(0);

const usage = z
  .looseObject({
    prompt_tokens: tokens.optional(),
    completion_tokens: tokens.optional(),
    total_tokens: tokens.optional(),
  })
  .meta({ id: 'ChatUsage' });

const chatMessage = z
  .looseObject({
    role: z.string(),
    content: z.union([z.string(), z.array(z.looseObject({})), z.null()]).optional(),
  })
  .meta({ id: 'ChatMessage' });

export const chatRequest = z
  .looseObject({
    model,
    messages: z.array(chatMessage),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    n: z.int().min(1).nullish(),
    max_tokens: tokens.nullish(),
    max_completion_tokens: tokens.nullish(),
    tools: z.array(z.looseObject({})).nullish(),
  })
  .meta({
    id: 'ChatRequest',
    examples: [{ model: 'test-chat', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 }],
  });

export const chatResponse = z
  .looseObject({
    id: z.string().optional(),
    object: z.string().optional(),
    created: z.int().optional(),
    model: z.string().optional(),
    choices: z.array(
      z.looseObject({
        index: z.int().optional(),
        message: z.looseObject({}).optional(),
        finish_reason: z.string().nullish(),
      }),
    ),
    usage: usage.nullish(),
  })
  .meta({
    id: 'ChatCompletion',
    examples: [
      {
        id: 'chatcmpl_1',
        object: 'chat.completion',
        created: 1_790_000_000,
        model: 'test-chat',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      },
    ],
  });

export const completionRequest = z
  .looseObject({
    model,
    prompt: z
      .union([z.string(), z.array(z.unknown())])
      .nullish()
      .describe('One text or several, each as a string or as a list of tokens.'),
    suffix: z.string().nullish().describe('The text behind the completion.'),
    max_tokens: z.int().min(0).nullish(),
    stream: z.boolean().nullish(),
    n: z.int().min(1).nullish(),
  })
  .meta({
    id: 'CompletionRequest',
    examples: [{ model: 'test-completions', prompt: 'def add(a, b):\n', suffix: '\n', max_tokens: 32 }],
  });

export const completionResponse = z
  .looseObject({
    choices: z.array(
      z.looseObject({ index: z.int().optional(), text: z.string().optional(), finish_reason: z.string().nullish() }),
    ),
    usage: usage.nullish(),
  })
  .meta({
    id: 'Completion',
    examples: [
      {
        id: 'cmpl_1',
        object: 'text_completion',
        created: 1_790_000_000,
        model: 'test-completions',
        choices: [{ index: 0, text: '    return a + b', finish_reason: 'stop' }],
        usage: { prompt_tokens: 8, completion_tokens: 6, total_tokens: 14 },
      },
    ],
  });

export const embeddingsRequest = z
  .looseObject({
    model,
    input: z
      .union([z.string(), z.array(z.unknown())])
      .describe('One text or several, each as a string or as a list of tokens.'),
  })
  .meta({ id: 'EmbeddingsRequest', examples: [{ model: 'test-embeddings', input: 'Hello' }] });

export const embeddingsResponse = z
  .looseObject({
    object: z.string().optional(),
    data: z.array(z.looseObject({ index: z.int().optional(), embedding: z.union([z.array(z.number()), z.string()]) })),
    model: z.string().optional(),
    usage: usage.nullish(),
  })
  .meta({
    id: 'EmbeddingList',
    examples: [
      {
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }],
        model: 'test-embeddings',
        usage: { prompt_tokens: 5, total_tokens: 5 },
      },
    ],
  });

export const rerankRequest = z.looseObject({ model, query: z.string(), documents: z.array(z.unknown()).min(1) }).meta({
  id: 'RerankRequest',
  examples: [{ model: 'test-rerank', query: 'What is metered?', documents: ['Calls are.', 'Queries are not.'] }],
});

export const rerankResponse = z
  .looseObject({ results: z.array(z.looseObject({ index: z.int(), relevance_score: z.number() })) })
  .meta({
    id: 'RerankResult',
    examples: [{ results: [{ index: 0, relevance_score: 0.9 }], usage: { total_tokens: 6 } }],
  });
