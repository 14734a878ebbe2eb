import { z } from 'zod';

/** This file has schemas of responses, compaction and token counting (contract 2.1, 4.3, 4.4). Other fields are allowed. */

const model = z.string().min(1).meta({ description: 'The id of a model, or an alias.' });
const tokens = z.int().min(0);
const input = z.union([z.string(), z.array(z.looseObject({})), z.null()]);

const usage = z
  .looseObject({
    input_tokens: tokens,
    input_tokens_details: z
      .looseObject({ cached_tokens: tokens.optional(), cache_write_tokens: tokens.optional() })
      .nullish(),
    output_tokens: tokens,
    output_tokens_details: z.looseObject({ reasoning_tokens: tokens.optional() }).nullish(),
    total_tokens: tokens,
  })
  .meta({ id: 'ResponsesUsage' });

export const responsesRequest = z
  .looseObject({
    model,
    input: input.optional(),
    instructions: z.string().nullish(),
    previous_response_id: z.string().nullish(),
    max_output_tokens: tokens.nullish(),
    stream: z.boolean().nullish(),
    store: z.boolean().nullish(),
    tools: z.array(z.looseObject({})).nullish(),
  })
  .meta({ id: 'ResponsesRequest', examples: [{ model: 'test-responses', input: 'Say hello.' }] });

export const responsesResponse = z
  .looseObject({
    id: z.string(),
    object: z.string().optional(),
    created_at: z.number().optional(),
    status: z.string().optional(),
    output: z.array(z.looseObject({})),
    usage: usage.nullish(),
  })
  .meta({
    id: 'ResponsesAnswer',
    examples: [
      {
        id: 'resp_1',
        object: 'response',
        created_at: 1_790_000_000,
        status: 'completed',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello there' }] }],
        usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13 },
      },
    ],
  });

export const compactRequest = z
  .looseObject({
    model: model.nullable().describe('null if previous_response_id or the encrypted context determines the model.'),
    input: input.optional(),
    instructions: z.string().nullish(),
    previous_response_id: z.string().nullish(),
    prompt_cache_key: z.string().max(64).nullish(),
    prompt_cache_options: z
      .looseObject({ mode: z.enum(['implicit', 'explicit']).optional(), ttl: z.enum(['30m']).optional() })
      .nullish(),
    prompt_cache_retention: z.enum(['in_memory', '24h']).nullish().meta({ deprecated: true }),
    service_tier: z.enum(['auto', 'default', 'fast', 'flex', 'priority']).nullish(),
  })
  .meta({ id: 'CompactRequest', examples: [{ model: 'test-responses', input: 'A long conversation.' }] });

const compactedItem = z.looseObject({ type: z.string() });

export const compactResponse = z
  .looseObject({
    id: z.string(),
    object: z.literal('response.compaction'),
    created_at: z.number().min(0),
    output: z.union([compactedItem, z.array(compactedItem).min(1)]),
    usage,
  })
  .meta({
    id: 'CompactionResult',
    examples: [
      {
        id: 'resp_2',
        object: 'response.compaction',
        created_at: 1_790_000_000,
        output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }],
        usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13 },
      },
    ],
  });

export const inputTokensRequest = z
  .looseObject({
    model,
    input: input.optional(),
    instructions: z.string().nullish(),
    reasoning: z.looseObject({}).nullish(),
    text: z.looseObject({}).nullish(),
    tools: z.array(z.looseObject({})).nullish(),
  })
  .meta({ id: 'InputTokensRequest', examples: [{ model: 'test-responses', input: 'Say hello.' }] });

export const inputTokensResponse = z
  .strictObject({ object: z.literal('response.input_tokens'), input_tokens: tokens })
  .meta({ id: 'InputTokensAnswer', examples: [{ object: 'response.input_tokens', input_tokens: 9 }] });
