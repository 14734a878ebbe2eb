import type { z } from 'zod';
import { EFFORTS } from '../protocols/translation/dialect.ts';
import { listOf, oneOf, section, text } from './fields.ts';

/** How a provider or a model differs from others of its protocol. Only translation reads it (`docs/translation.md`). */
export const dialect = section({
  reasoning: oneOf(['effort', 'thinking', 'enable_thinking', 'openrouter', 'template', 'none'])
    .optional()
    .describe(
      'Chat: the field that asks for reasoning: `effort` (`reasoning_effort`), `thinking` (`thinking.type`), `enable_thinking` (with `thinking_budget`), `openrouter` (`reasoning`), `template` (`chat_template_kwargs`). Default: `none`, reasoning is not requested.',
    ),
  efforts: listOf('at least one effort', oneOf(EFFORTS), 1)
    .optional()
    .describe('Efforts that the model supports; the nearest one is sent. Default: low, medium, high.'),
  replay: oneOf(['none', 'reasoning_content', 'reasoning', 'reasoning_details'])
    .optional()
    .describe('Chat: the field in which the provider expects earlier reasoning. Default: `none`.'),
  thinking: oneOf(['adaptive', 'budget', 'none'])
    .optional()
    .describe('Messages: how the model is asked to think. Default: `none`.'),
  promptCache: oneOf(['auto', 'off'])
    .optional()
    .describe('Messages: whether conversations ask for a prompt cache. Default: `off`.'),
  laterSystem: oneOf(['user', 'system'])
    .optional()
    .describe('Role of instructions after the first turn. Default: `user`.'),
  toolMedia: oneOf(['user', 'tool'])
    .optional()
    .describe('Chat: whether images of tool results are in a user message or in the result. Default: `user`.'),
  maxTokens: oneOf(['max_tokens', 'max_completion_tokens'])
    .optional()
    .describe('Chat: the field with the output limit. Default: `max_tokens`.'),
  takes: listOf('names of fields', text)
    .optional()
    .describe(
      'Optional fields that the provider accepts, such as `user`, `seed`, `prompt_cache_key` or `json_schema`.',
    ),
  drops: listOf('names of fields', text).optional().describe('Fields that the model rejects, such as `temperature`.'),
});

export type DialectConfig = z.infer<typeof dialect>;
