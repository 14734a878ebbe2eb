import { z } from 'zod';

/** This file has schemas of messages and token counting (contract 4.1, 4.7) as the vendor documents them. Other fields are allowed. */

const model = z.string().min(1).meta({ description: 'The id of a model, or an alias.' });
const content = z.union([z.string(), z.array(z.looseObject({}))]);
const message = z.looseObject({ role: z.string(), content }).meta({ id: 'Message' });
const tools = z.array(z.looseObject({})).nullish();

export const messagesRequest = z
  .looseObject({
    model,
    max_tokens: z.int().min(0).nullish(),
    messages: z.array(message),
    system: content.nullish(),
    stream: z.boolean().nullish(),
    tools,
  })
  .meta({
    id: 'MessagesRequest',
    examples: [{ model: 'test-messages', max_tokens: 20, messages: [{ role: 'user', content: 'Say hello.' }] }],
  });

export const messagesResponse = z
  .looseObject({
    id: z.string().optional(),
    type: z.string().optional(),
    role: z.string().optional(),
    model: z.string().optional(),
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: z.string().nullish(),
    usage: z
      .looseObject({ input_tokens: z.int().min(0).nullish(), output_tokens: z.int().min(0).nullish() })
      .optional(),
  })
  .meta({
    id: 'MessagesAnswer',
    examples: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'test-messages',
        content: [{ type: 'text', text: 'Hello there' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 12, output_tokens: 8 },
      },
    ],
  });

export const countTokensRequest = z
  .looseObject({ model: model.optional(), messages: z.array(message), system: content.nullish(), tools })
  .meta({
    id: 'CountTokensRequest',
    examples: [{ model: 'test-messages', messages: [{ role: 'user', content: 'Say hello.' }] }],
  });

export const countTokensResponse = z
  .strictObject({ input_tokens: z.int().min(0) })
  .meta({ id: 'CountTokensAnswer', examples: [{ input_tokens: 12 }] });
