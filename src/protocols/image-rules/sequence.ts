import { invalidRequest } from '../../errors/gateway-error.ts';

/** The most images of a sequence, and how many a model may make if the request does not limit them (Volcengine Ark). */
const SEQUENCE_IMAGES_MAX = 15;

const SWITCH = 'sequential_image_generation';
const OPTIONS = 'sequential_image_generation_options';
const LIMIT = 'max_images';

/** How the members of a body are read. */
interface SequenceFields {
  optionalWord<const Word extends string>(name: string, words: readonly Word[]): Word | null;
  optionalObject(name: string): Pick<SequenceLimit, 'optionalWhole'> | null;
}

interface SequenceLimit {
  optionalWhole(name: string, min: number): number | null;
}

/**
 * The most images of each result that a request allows: one, unless it lets the model make a sequence of them
 * (`sequential_image_generation`). The number is the model's to choose, so that as many are reserved as it may make, and as
 * many are charged as come. A limit counts also if the switch is off: a relay may read it alone.
 *
 * @throws GatewayError `invalidRequest` if a vendor could read the members in another way
 */
export function sequenceImages(fields: SequenceFields): number {
  const isOn = fields.optionalWord(SWITCH, ['auto', 'disabled']) === 'auto';
  const limit = fields.optionalObject(OPTIONS)?.optionalWhole(LIMIT, 1) ?? null;
  if (limit !== null && limit > SEQUENCE_IMAGES_MAX) {
    const param = `${OPTIONS}.${LIMIT}`;
    throw invalidRequest(`The field "${param}" must be at most ${SEQUENCE_IMAGES_MAX}; this is ${limit}.`, param);
  }
  return limit ?? (isOn ? SEQUENCE_IMAGES_MAX : 1);
}
