import type { z } from 'zod';
import { isStorable } from '../../lib/plain-text.ts';

/** Search terms must meet this condition too. */
export function storable(text: z.ZodString): z.ZodString {
  return text.refine(isStorable, 'Must be well-formed text without zero bytes.');
}
