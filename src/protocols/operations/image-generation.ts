import { chatProtocol } from '../chat/protocol.ts';
import { type ImageMembers, refuseAliases } from '../image-rules/aliases.ts';
import { familyOf, imageFamilies } from '../image-rules/families.ts';
import { checkFamily } from '../image-rules/family-rules.ts';
import { defaultGenerationModel, readGeneration } from '../image-rules/generation.ts';
import { sequenceImages } from '../image-rules/sequence.ts';
import { imagesResponse } from '../images/response.ts';
import { readImagesStream } from '../images/stream.ts';
import { byImages, byTokens } from '../metering/charge-options.ts';
import { typedStreamError } from '../responses/errors.ts';
import type { BodyFields } from './fields.ts';
import { jsonOperation } from './json-operation.ts';

/** Maximum output tokens of an image together with its previews. */
export const IMAGE_OUTPUT_TOKENS = 8_192;

/** Maximum UTF-16 code units that are kept of a prompt. A longer one exceeds the limit of every family. */
const PROMPT_UNITS_KEPT = 2 * Math.max(...imageFamilies.map(({ promptCharactersMax }) => promptCharactersMax)) + 1;

export const imageGeneration = jsonOperation({
  name: 'images.generate',
  protocol: chatProtocol,
  upstreamPath: '/images/generations',
  streamError: typedStreamError,
  charge: [byTokens(['input', 'output'], ['input', 'imageOutput']), byImages],
  catalogEntry: { interfaceId: 'IMAGES', operationId: 'IMAGES_GENERATE' },
  countedAs: null,
  isAlwaysAwaited: true,
  reading: 'parses',
  readRequest(fields) {
    refuseAliases(membersOf(fields));
    const imagesMax = sequenceImages(fields);
    const generation = readGeneration((name) => (name === 'prompt' ? fields.wholeValue(name) : fields.value(name)));
    const choices = (generation.n ?? 1) * imagesMax;
    return {
      model: generation.model ?? defaultGenerationModel(generation),
      isStream: generation.stream ?? false,
      choices,
      demand: {
        outputTokensLimit: null,
        thinkingTokens: 0,
        outputTokensDefault: IMAGE_OUTPUT_TOKENS * (fields.lenientWhole('frame_count') ?? 1),
      },
      details: { ...generation, prompt: generation.prompt.slice(0, PROMPT_UNITS_KEPT), choices },
    };
  },
  checkFor: (generation, modelId) => checkFamily(generation, familyOf(modelId)),
  response: ({ quality, size }) => imagesResponse({ quality, size }),
  readStream: ({ choices, quality, size }, basis) => readImagesStream({ count: choices, quality, size }, basis),
});

function membersOf(fields: BodyFields): ImageMembers {
  return {
    has: (name) => fields.has(name) && fields.member(name)?.kind !== 'false',
    inside(name) {
      const inside = fields.member(name)?.kind === 'object' ? fields.optionalObject(name) : null;
      return inside === null ? null : membersOf(inside);
    },
  };
}
