import { z } from 'zod';
import { type ApiKey, KEY_STATUSES } from '../../accounting/accounts/api-key-store.ts';
import { hashApiKey, isApiKey, KEY_PREFIX, mayBeImportedKey } from '../../accounting/accounts/key-format.ts';
import type { FoundKey, KeySearchStore } from '../../accounting/accounts/key-search-store.ts';
import { type ModelBudgetStore, NO_MODEL_BUDGETS } from '../../accounting/accounts/model-budget-store.ts';
import { NO_RATE_LIMITS, type RateLimitStore } from '../../accounting/accounts/rate-limit-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { SHOWN_CHARS } from '../../lib/secret-text.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { accountResponse, filterText, page, toPage } from '../management/wire.ts';
import { ownerOf } from './model-budgets.ts';
import { keyMembers, keyToWire } from './wire.ts';

interface KeySearchDependencies {
  readonly catalog: () => Catalog;
  readonly keySearch: KeySearchStore;
  readonly rateLimits: Pick<RateLimitStore, 'ofKeys'>;
  readonly modelBudgets: ModelBudgetStore;
  readonly clock: Clock;
}

const MALFORMED = `This is not a Faregate key, or it is mistyped or truncated: keys begin with ${KEY_PREFIX} and have 44 characters.`;
const PREFIX =
  `Expected the first characters of a key as shown in lists: ${KEY_PREFIX} and two to four characters. ` +
  'Send a whole key as "key".';

/** A search for a key. Its error messages do not quote the text, which could be a mistyped real key. */
const search = z
  .strictObject({
    key: z
      .string()
      .refine((text) => isApiKey(text) || mayBeImportedKey(text), { error: MALFORMED })
      .optional(),
    prefix: z
      .string()
      .transform((text) => text.replace(/…$/, ''))
      .refine(isPrefix, { error: PREFIX })
      .optional(),
    id: filterText.optional(),
    ...page,
  })
  .refine(({ key, prefix, id }) => [key, prefix, id].filter((given) => given !== undefined).length === 1, {
    error: 'Expected the whole "key", its "prefix" or its "id".',
  })
  .meta({ examples: [{ prefix: `${KEY_PREFIX}ab12` }] });

const foundKey = z
  .strictObject({
    ...keyMembers,
    status: z.enum(KEY_STATUSES),
    account: accountResponse.pick({
      id: true,
      name: true,
      email: true,
      verified: true,
      status: true,
      statusReason: true,
    }),
  })
  .meta({ id: 'FoundKey' });
export type FoundKeyResponse = z.infer<typeof foundKey>;

function isPrefix(text: string): boolean {
  const rest = text.slice(KEY_PREFIX.length);
  return text.startsWith(KEY_PREFIX) && /^[0-9A-Za-z]+$/.test(rest) && rest.length >= 2 && rest.length <= SHOWN_CHARS;
}

/** Endpoints that search keys. They expect the key in the body, because URLs are logged. */
export function keySearchEndpoints(dependencies: KeySearchDependencies): AdminEndpoint[] {
  const { keySearch, rateLimits, modelBudgets, catalog, clock } = dependencies;

  async function toWires(found: readonly FoundKey[]): Promise<FoundKeyResponse[]> {
    const keys = found.map(({ key }) => key);
    const ratesOf = await rateLimits.ofKeys(keys);
    const budgetsOf = await modelBudgets.find(keys.map(ownerOf));
    return found.map(({ key, limits, lastUsedAt, account }) => {
      const rates = ratesOf.get(key.id) ?? NO_RATE_LIMITS;
      const budgets = budgetsOf.get(key.id) ?? NO_MODEL_BUDGETS;
      return {
        ...keyToWire(key, { limits, rates, budgets }, lastUsedAt, catalog()),
        status: keyStatus(key, clock.nowMs()),
        account,
      };
    });
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/keys/search',
      isChange: false,
      summary: 'Find a key and its owner by the whole key, by its prefix or by its id',
      body: search,
      response: pageOf(foundKey),
      async run({ body }) {
        const { key, prefix, id, cursor, limit } = body;
        if (prefix === undefined) {
          const found = await (key === undefined ? keySearch.findById(id!) : keySearch.findByHash(hashApiKey(key)));
          return { data: await toWires(found === null ? [] : [found]), nextCursor: null };
        }
        const found = await keySearch.findByPrefix(prefix, cursor ?? null, limit);
        return toPage(await toWires(found), limit, (wire) => wire.id);
      },
    }),
  ];
}

function keyStatus({ revokedAt, expiresAt }: ApiKey, nowMs: number): 'active' | 'revoked' | 'expired' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt.getTime() <= nowMs ? 'expired' : 'active';
}
