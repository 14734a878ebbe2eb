import type { CallInput, JsonOperation } from '../call/operation.ts';
import { familyOf } from '../images/families.ts';
import { checkGeneration, defaultGenerationModel, readGeneration } from '../images/generation.ts';
import { imagesAnswer } from '../protocols/images/answer.ts';
import { readImagesStream } from '../protocols/images/stream.ts';
import { BodyFields } from './fields.ts';
import { jsonInput } from './json-input.ts';

/** New images from a prompt (contract 4.5; wire facts 3). */
export const imageGeneration: JsonOperation = {
  name: 'images.generate',
  protocol: 'chat',
  upstreamPath: '/images/generations',
  streamErrorForm: 'typed',
  inspect(body): CallInput {
    const fields = BodyFields.read(body);
    const generation = readGeneration((name) => fields.value(name));
    const { quality, size, n } = generation;
    const count = n ?? 1;
    return jsonInput(fields, {
      model: generation.model ?? defaultGenerationModel(generation),
      isStream: generation.stream ?? false,
      outputTokensRequested: null,
      choices: count,
      checkFor: (modelId) => checkGeneration(generation, familyOf(modelId)),
      answer: imagesAnswer({ quality, size }),
      readStream: (basis) => readImagesStream('image_generation', { count, quality, size }, basis),
    });
  },
};
