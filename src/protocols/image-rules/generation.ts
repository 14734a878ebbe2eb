import { imageFamilies } from './families.ts';
import { breachesOf } from './family-rules.ts';
import { generationParameters, type ImageParameters, readJsonParameters } from './parameters.ts';

/**
 * Reads a generation as far as its rules are the same for all models.
 *
 * @param get the value of a key of the body, `undefined` if it has no such key
 * @throws GatewayError `invalidRequest` with the parameter to blame
 */
export function readGeneration(get: (name: string) => unknown): ImageParameters {
  return readJsonParameters(generationParameters, get);
}

const DEFAULT_PLAIN_MODEL = 'dall-e-2';
const DEFAULT_GPT_IMAGE_MODEL = 'gpt-image-2';

/** Neither takes any parameter that only GPT Image models have. */
const plainFamilies = imageFamilies.filter(({ name }) => name === 'dall-e-2' || name === 'dall-e-3');

/**
 * The model of a generation that names none (contract 4.5). A parameter is one of GPT Image alone if neither of the
 * older models takes its value; the prompt says nothing about the model, however long it is.
 */
export function defaultGenerationModel(fields: ImageParameters): string {
  const [refused, ...others] = plainFamilies.map((family) => breachesOf(fields, family).map(({ param }) => param));
  const isForGptImage = refused!.some((param) => param !== 'prompt' && others.every((each) => each.includes(param)));
  return isForGptImage ? DEFAULT_GPT_IMAGE_MODEL : DEFAULT_PLAIN_MODEL;
}
