import type { z } from 'zod';
import { isStorable } from '../../lib/plain-text.ts';

/** PostgreSQL must be able to store the text, or to search for it. */
export function storable(text: z.ZodString): z.ZodString {
  return text.refine(isStorable, 'Must be well-formed text without zero bytes.');
}
