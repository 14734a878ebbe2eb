import { z } from 'zod';
import type { RecordedCaller } from '../../accounting/accounts/recording.ts';
import { listOf } from '../management/response-fields.ts';

/** Who made a call. Address, program and end user are `null` unless they are recorded (`docs/callers.md`). */
export const callerFields = {
  clientAddress: z.string().nullable(),
  program: z.string().nullable().describe('The product tokens of the user agent.'),
  endUser: z.string().nullable().describe('The end user whom the request named.'),
  tags: listOf(z.string()).describe('The tags in the header `x-faregate-tags`.'),
};

export const callerToWire = (caller: RecordedCaller | null | undefined) => ({
  clientAddress: caller?.clientAddress ?? null,
  program: caller?.program ?? null,
  endUser: caller?.endUser ?? null,
  tags: caller?.tags ?? [],
});
