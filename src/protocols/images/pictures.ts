import type { HoldingRules } from '../../lib/json/json-holdings.ts';

/** What a response or an event of a stream holds, as far as it has been read. */
interface Holder {
  holding?(group: string): number;
}

/**
 * Where vendors put finished pictures, and what stands in place of one that failed: in the outermost object, or in the items
 * of `data` (SiliconFlow also lists them as `images`). StepFun and some relays use other names inside of items alone; outside
 * of them `image` is the picture that was sent.
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

/** The finished pictures of a response or of an event. What has neither an address nor bytes is none. */
export function picturesIn(holder: Holder): number {
  return holder.holding?.('pictures') ?? 0;
}

/** The items that say that they failed. */
export function failuresIn(holder: Holder): number {
  return holder.holding?.('failures') ?? 0;
}

/** Whether an event as a whole says that something failed: the stream, or the picture that it is about. */
export function isError(holder: Holder): boolean {
  return (holder.holding?.('errors') ?? 0) > 0;
}
