import { z } from 'zod';
import { KEY_STATUSES } from '../../accounting/accounts/api-key-store.ts';
import { KEY_PREFIX } from '../../accounting/accounts/key-format.ts';
import { KEY_SCOPES } from '../../accounting/accounts/key-scopes.ts';
import { allowListFields } from '../accounts/allow-lists.ts';
import { rateLimitFields } from '../accounts/rate-limits.ts';
import { filterText, instant, page, shortText, wholeNumber } from '../management/wire.ts';
import { askedModelBudgets } from './model-budgets.ts';
import { askedLimits } from './wire.ts';

const limits = { ...askedLimits, ...askedModelBudgets, ...rateLimitFields };

const EXPECTED_SCOPES = { error: `Expected a list of ${KEY_SCOPES.map((scope) => `"${scope}"`).join(' and ')}.` };
const scopes = z
  .array(z.enum(KEY_SCOPES, EXPECTED_SCOPES), EXPECTED_SCOPES)
  .min(1, 'Name at least one scope.')
  .max(KEY_SCOPES.length, 'Name each scope once.')
  .refine((names) => new Set(names).size === names.length, 'Name each scope once.');

export const keyList = z.strictObject({
  ...page,
  status: z.enum(KEY_STATUSES).optional(),
  userId: filterText.optional(),
});

export const newKey = z.strictObject({
  name: shortText.default('default'),
  expiresAt: instant.nullish(),
  scopes: scopes.optional(),
  /** User who owns the key; `null` or absent: the account. */
  userId: filterText.nullish(),
  ...limits,
  ...allowListFields,
});

const SHA256 = { error: 'Expected the SHA-256 of the key as 64 hexadecimal digits.' };
const SHOWN = {
  error:
    'Expected 1 to 20 visible characters to show in lists, such as the first ones of the key; never the whole key.',
};

const OURS = { error: `Only keys created by this program begin with ${KEY_PREFIX}.` };

/** An imported key. It can only be used for calls, because the account API recognizes its keys by their format. */
export const importedKey = newKey.omit({ scopes: true, userId: true }).extend({
  sha256: z
    .string(SHA256)
    .regex(/^[0-9a-fA-F]{64}$/, SHA256)
    .transform((text) => text.toLowerCase())
    .meta({ examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'] }),
  prefix: z
    .string(SHOWN)
    .regex(/^[^\s\p{C}]{1,20}$/u, SHOWN)
    // An imported key must not begin like a key of the gateway, which recognizes it by that.
    .refine((text) => !text.startsWith(KEY_PREFIX), OURS)
    .meta({ examples: ['sk-Ab12…'] }),
  isRevoked: z.boolean().default(false),
});

export const keyChange = z.strictObject({ name: shortText.optional(), ...limits, ...allowListFields });

const KEEP_OLD_SECONDS_MAX = 30 * 86_400;

export const replacement = z.strictObject({
  /** How long the old key stays valid, unless it expires earlier. By default, it is revoked at once. */
  keepOldSeconds: wholeNumber(
    0,
    KEEP_OLD_SECONDS_MAX,
    `Expected a whole number of seconds from 0 to ${KEEP_OLD_SECONDS_MAX}, which is 30 days.`,
  ).default(0),
  /** When the new key expires. By default, it never does. */
  expiresAt: instant.nullish(),
});

export type KeyListQuery = z.infer<typeof keyList>;
export type ImportedKeyBody = z.infer<typeof importedKey>;
export type NewKeyBody = z.infer<typeof newKey>;
export type KeyChangeBody = z.infer<typeof keyChange>;
export type ReplacementBody = z.infer<typeof replacement>;
