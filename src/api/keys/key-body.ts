import { z } from 'zod';
import { KEY_STATUSES } from '../../accounting/accounts/api-key-store.ts';
import { KEY_PREFIX } from '../../accounting/accounts/key-format.ts';
import { KEY_SCOPES } from '../../accounting/accounts/key-scopes.ts';
import { rateLimitFields } from '../accounts/rate-limits.ts';
import { filterText, instant, page, shortText, wholeNumber } from '../management/wire.ts';
import { allowListFields } from './allow-lists.ts';
import { askedLimits } from './wire.ts';

/** The bodies and filters of requests about keys, in the admin API and the account API. */

/** What limits a key. */
const limits = { ...askedLimits, ...rateLimitFields };

const EXPECTED_SCOPES = { error: `Expected a list of ${KEY_SCOPES.map((scope) => `"${scope}"`).join(' and ')}.` };
const scopes = z
  .array(z.enum(KEY_SCOPES, EXPECTED_SCOPES), EXPECTED_SCOPES)
  .min(1, 'Name at least one scope.')
  .max(KEY_SCOPES.length, 'Name each scope once.')
  .refine((names) => new Set(names).size === names.length, 'Name each scope once.');

/** What a list of keys is filtered by. */
export const keyList = z.strictObject({
  ...page,
  status: z.enum(KEY_STATUSES).optional(),
  /** The person whose keys they are. */
  userId: filterText.optional(),
});

/** The body of a request for a key; an import checks its rows by it. */
export const newKey = z.strictObject({
  name: shortText.default('default'),
  expiresAt: instant.nullish(),
  /** What it may be used for; calls by default. */
  scopes: scopes.optional(),
  /** The person whose key it is; `null` or absent: the account's. */
  userId: filterText.nullish(),
  ...limits,
  ...allowListFields,
});

const SHA256 = { error: 'Expected the SHA-256 of what clients send, as 64 hexadecimal digits.' };
const SHOWN = {
  error: 'Expected 1 to 20 visible characters by which lists show the key, such as its beginning; never all of it.',
};

const OURS = { error: `Only keys that this program made begin with ${KEY_PREFIX}.` };

/** The body of a request that takes over a key which another program made: for calls, because the account API knows keys by their form. */
export const importedKey = newKey.omit({ scopes: true, userId: true }).extend({
  sha256: z
    .string(SHA256)
    .regex(/^[0-9a-fA-F]{64}$/, SHA256)
    .transform((text) => text.toLowerCase())
    .meta({ examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'] }),
  prefix: z
    .string(SHOWN)
    .regex(/^[^\s\p{C}]{1,20}$/u, SHOWN)
    // What tells whether there are keys of another form reads the beginnings that lists show.
    .refine((text) => !text.startsWith(KEY_PREFIX), OURS)
    .meta({ examples: ['sk-Ab12…'] }),
  /** Whether it is refused from the first. */
  isRevoked: z.boolean().default(false),
});

export const keyChange = z.strictObject({ name: shortText.optional(), ...limits, ...allowListFields });

/** The longest time for which a key that was replaced may be used still. */
const KEEP_OLD_SECONDS_MAX = 30 * 86_400;

export const replacement = z.strictObject({
  /** How long the old key is valid still, if it does not end earlier; by default it is refused at once. */
  keepOldSeconds: wholeNumber(
    0,
    KEEP_OLD_SECONDS_MAX,
    `Expected a whole number of seconds from 0 to ${KEEP_OLD_SECONDS_MAX}, which is 30 days.`,
  ).default(0),
  /** When the new key expires; never by default. */
  expiresAt: instant.nullish(),
});

export type KeyListQuery = z.infer<typeof keyList>;
export type ImportedKeyBody = z.infer<typeof importedKey>;
export type NewKeyBody = z.infer<typeof newKey>;
export type KeyChangeBody = z.infer<typeof keyChange>;
export type ReplacementBody = z.infer<typeof replacement>;
