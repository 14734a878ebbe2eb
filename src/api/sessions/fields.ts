import { z } from 'zod';
import { storable } from '../management/storable.ts';

export const emailAddress = z.email({ error: 'Expected an e-mail address.' }).max(200, 'At most 200 characters.');

/** E-mail address of a user, or the name of a user without one. */
export const signInName = storable(
  z.string({ error: 'Expected an e-mail address or a name.' }).min(1, 'Must not be empty.').max(200),
);

/** A password in a request. A new one must also meet the password rules. */
export const password = storable(
  z.string({ error: 'Expected text.' }).min(1, 'Must not be empty.').max(1000, 'At most 1000 characters.'),
);

export const accountRole = z.enum(['owner', 'member'], { error: 'Expected owner or member.' });
export const operatorRole = z.enum(['operator', 'auditor'], { error: 'Expected operator or auditor.' });
