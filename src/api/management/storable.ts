import type { z } from 'zod';
import { isStorable } from '../../lib/plain-text.ts';

/** A text that PostgreSQL can store, or search for. */
export function storable(text: z.ZodString): z.ZodString {
  return text.refine(isStorable, 'Must be well-formed text without zero bytes.');
}
