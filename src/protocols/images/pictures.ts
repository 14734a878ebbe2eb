import type { HoldingRules } from '../../lib/json/json-holdings.ts';

/**
 * Where vendors put finished images (an address or bytes) and errors: in the outermost object, or in items of `data` or `images`
 * (SiliconFlow). `failures` are items with an error; `errors` are errors of a whole event. Names that StepFun and relays use are read only
 * in items, because `image` at the top level is the input.
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
