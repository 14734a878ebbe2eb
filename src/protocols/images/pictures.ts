import type { HoldingRules } from '../../lib/json/json-holdings.ts';

/**
 * Where vendors put finished images and errors: in the outermost object, or in items of `data` (SiliconFlow also uses `images`). StepFun and some
 * relays use further names, but only within items; at the top level, `image` is the input.
 * - `pictures`: finished images, which have an address or bytes.
 * - `failures`: items with an error.
 * - `errors`: an error of a whole event: of the stream, or of the image that the event is about.
 */
export const pictureRules: HoldingRules<'pictures' | 'failures' | 'errors'> = {
  places: ['data', 'images', 'image'],
  outer: { pictures: ['b64_json', 'url'], failures: [], errors: ['error'] },
  items: {
    pictures: ['b64_json', 'url', 'image', 'image_url', 'base64', 'b64'],
    failures: ['error'],
    errors: [],
  },
};
