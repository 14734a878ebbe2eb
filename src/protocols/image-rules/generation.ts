import { imageFamilies } from './families.ts';
import { breachesOf } from './family-rules.ts';
import { generationParameters, type ImageParameters, readJsonParameters } from './parameters.ts';

/** @throws GatewayError `invalidRequest` with the parameter that is wrong. */
export function readGeneration(get: (name: string) => unknown): ImageParameters {
  return readJsonParameters(generationParameters, get);
}

const DEFAULT_PLAIN_MODEL = 'dall-e-2';
const DEFAULT_GPT_IMAGE_MODEL = 'gpt-image-2';

const plainFamilies = imageFamilies.filter(({ name }) => name === 'dall-e-2' || name === 'dall-e-3');

/**
 * The default model of a generation (contract 4.5). It is a GPT Image model if neither of the older models supports some parameter value. The length
 * of the prompt does not count.
 */
export function defaultGenerationModel(fields: ImageParameters): string {
  const [refused, ...others] = plainFamilies.map((family) => breachesOf(fields, family).map(({ param }) => param));
  const isForGptImage = refused!.some((param) => param !== 'prompt' && others.every((each) => each.includes(param)));
  return isForGptImage ? DEFAULT_GPT_IMAGE_MODEL : DEFAULT_PLAIN_MODEL;
}
