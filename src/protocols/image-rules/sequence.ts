import { invalidRequest } from '../../errors/gateway-error.ts';

/** Maximum number of images in a sequence at Volcengine Ark, which is also the default. */
const SEQUENCE_IMAGES_MAX = 15;

const SWITCH = 'sequential_image_generation';
const OPTIONS = 'sequential_image_generation_options';
const LIMIT = 'max_images';

interface SequenceFields {
  optionalWord<const Word extends string>(name: string, words: readonly Word[]): Word | null;
  optionalObject(name: string): Pick<SequenceLimit, 'optionalWhole'> | null;
}

interface SequenceLimit {
  optionalWhole(name: string, min: number): number | null;
}

/**
 * Returns how many images a result can have: 1, unless the request allows a sequence, whose length the model chooses. A maximum in the
 * request counts even if sequences are disabled, because a relay might read only the maximum.
 * @throws GatewayError `invalidRequest` if vendors could interpret the members differently
 */
export function sequenceImages(fields: SequenceFields): number {
  const isOn = fields.optionalWord(SWITCH, ['auto', 'disabled']) === 'auto';
  const limit = fields.optionalObject(OPTIONS)?.optionalWhole(LIMIT, 1) ?? null;
  if (limit !== null && limit > SEQUENCE_IMAGES_MAX) {
    const param = `${OPTIONS}.${LIMIT}`;
    throw invalidRequest(`The field "${param}" must be at most ${SEQUENCE_IMAGES_MAX}; received ${limit}.`, param);
  }
  return limit ?? (isOn ? SEQUENCE_IMAGES_MAX : 1);
}
