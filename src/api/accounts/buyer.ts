import { z } from 'zod';
import { shortText } from '../management/wire.ts';

/** The particulars of a buyer in a request. `null` removes them. */
export const buyer = z.strictObject({
  companyName: shortText,
  taxNumber: shortText.nullable().default(null),
  address: shortText.nullable().default(null),
  email: z.email({ error: 'Expected an e-mail address.' }).max(200).nullable().default(null),
});
