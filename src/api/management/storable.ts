import type { z } from 'zod';
import { isStorable } from '../../lib/plain-text.ts';

/** A text of a request that a column can hold, whether it is stored or only looked for. */
export function storable(text: z.ZodString): z.ZodString {
  return text.refine(isStorable, 'Must be well-formed text without zero bytes.');
}
