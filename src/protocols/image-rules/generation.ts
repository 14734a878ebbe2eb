import { imageFamilies } from './families.ts';
import { breachesOf } from './family-rules.ts';
import { generationParameters, type ImageParameters, readJsonParameters } from './parameters.ts';

/** Reads the parameters of a generation. @throws GatewayError `invalidRequest` with the invalid parameter */
export function readGeneration(get: (name: string) => unknown): ImageParameters {
  return readJsonParameters(generationParameters, get);
}

const DEFAULT_PLAIN_MODEL = 'dall-e-2';
const DEFAULT_GPT_IMAGE_MODEL = 'gpt-image-2';

const plainFamilies = imageFamilies.filter(({ name }) => name === 'dall-e-2' || name === 'dall-e-3');

/** Returns the model for a generation that names none (contract 4.5): a GPT Image model if no older model supports all values. */
export function defaultGenerationModel(fields: ImageParameters): string {
  const [refused, ...others] = plainFamilies.map((family) => breachesOf(fields, family).map(({ param }) => param));
  const isForGptImage = refused!.some((param) => param !== 'prompt' && others.every((each) => each.includes(param)));
  return isForGptImage ? DEFAULT_GPT_IMAGE_MODEL : DEFAULT_PLAIN_MODEL;
}
