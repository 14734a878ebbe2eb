import type { z } from 'zod';
import { isStorable } from '../../lib/plain-text.ts';

/** A text that PostgreSQL can store. Search terms must meet the same condition. */
export function storable(text: z.ZodString): z.ZodString {
  return text.refine(isStorable, 'Must be well-formed text without zero bytes.');
}
