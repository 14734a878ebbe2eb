import { z } from 'zod';

/** This file has schemas of images (contract 2.2, 4.5, 4.6). Other fields are allowed. */

const tokens = z.int().min(0);
const details = z.looseObject({ image_tokens: tokens, text_tokens: tokens });
const PROMPT_CHARACTERS_MAX = 32_000;
const IMAGES_MAX = 10;

export const imageGenerationRequest = z
  .looseObject({
    model: z.string().min(1).nullish(),
    prompt: z.string().min(1).max(PROMPT_CHARACTERS_MAX),
    background: z.enum(['transparent', 'opaque', 'auto']).nullish(),
    moderation: z.enum(['low', 'auto']).nullish(),
    n: z.int().min(1).max(IMAGES_MAX).nullish(),
    output_compression: z.int().min(0).max(100).nullish(),
    output_format: z.enum(['png', 'jpeg', 'webp']).nullish(),
    partial_images: z.int().min(0).max(3).nullish().describe('Only with stream=true.'),
    quality: z.enum(['standard', 'hd', 'low', 'medium', 'high', 'auto']).nullish(),
    response_format: z.enum(['url', 'b64_json']).nullish(),
    size: z.string().nullish(),
    stream: z.boolean().nullish(),
    style: z.enum(['vivid', 'natural']).nullish(),
    user: z.string().optional(),
  })
  .meta({ id: 'ImageGenerationRequest', examples: [{ model: 'gpt-image-2', prompt: 'A gate' }] });

const file = z.string().meta({ format: 'binary' });

export const imageEditRequest = z
  .looseObject({
    image: z.array(file).min(1).max(16),
    prompt: z.string().min(1).max(PROMPT_CHARACTERS_MAX),
    mask: file.optional(),
    model: z.string().min(1).optional(),
    background: z.enum(['transparent', 'opaque', 'auto']).optional(),
    input_fidelity: z.enum(['high', 'low']).optional(),
    n: z.int().min(1).max(IMAGES_MAX).optional(),
    output_compression: z.int().min(0).max(100).optional(),
    output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
    partial_images: z.int().min(0).max(3).optional(),
    quality: z.enum(['standard', 'low', 'medium', 'high', 'auto']).optional(),
    response_format: z.enum(['url', 'b64_json']).optional(),
    size: z.string().optional(),
    stream: z.boolean().optional(),
    user: z.string().optional(),
  })
  .meta({ id: 'ImageEditRequest' });

export const imagesResponse = z
  .looseObject({
    created: z.int(),
    data: z
      .array(
        z.looseObject({
          b64_json: z.string().nullish(),
          revised_prompt: z.string().nullish(),
          url: z.string().nullish(),
        }),
      )
      .min(1),
    background: z.string().nullish(),
    output_format: z.string().nullish(),
    quality: z.string().nullish(),
    size: z.string().nullish(),
    usage: z
      .looseObject({
        input_tokens: tokens,
        input_tokens_details: details,
        output_tokens: tokens,
        output_tokens_details: details.optional(),
        total_tokens: tokens,
      })
      .nullish(),
  })
  .meta({ id: 'ImagesResult', examples: [{ created: 1_790_000_000, data: [{ b64_json: 'aGVsbG8=' }] }] });
