import type { HoldingRules } from '../../lib/json/json-holdings.ts';

/**
 * Where vendors put finished pictures, and what stands in place of one that failed: in the outermost object, or in the items
 * of `data` (SiliconFlow also lists them as `images`). StepFun and some relays use other names inside of items alone; outside
 * of them `image` is the picture that was sent.
 *
 * - `pictures`: finished ones. What has neither an address nor bytes is none.
 * - `failures`: items that say that they failed.
 * - `errors`: an event as a whole says that something failed, the stream or the picture that it is about.
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
