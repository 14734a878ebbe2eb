import type { z } from 'zod';
import { isStorable } from '../../lib/plain-text.ts';

/** Text that PostgreSQL can store, for values and for search terms. */
export function storable(text: z.ZodString): z.ZodString {
  return text.refine(isStorable, 'Must be well-formed text without zero bytes.');
}
