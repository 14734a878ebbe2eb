import { z } from 'zod';
import { NO_ALLOW_LISTS } from '../../accounting/accounts/allow-lists.ts';
import type { KeySearchStore } from '../../accounting/accounts/key-search-store.ts';
import { isUniqueViolation } from '../../db/errors.ts';
import { toRateChange } from '../accounts/rate-limits.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict, Repeat } from '../management/endpoint.ts';
import { shown } from '../management/shown.ts';
import { toAllowListChange } from './allow-lists.ts';
import { type ImportedKeyBody, importedKey } from './key-body.ts';
import { type KeyAdminParts, orRefused } from './key-keeper.ts';
import { keyMembers, toLimitChange } from './wire.ts';

interface ImportedKeyParts extends Pick<KeyAdminParts, 'accounts' | 'keys' | 'catalog'> {
  readonly keySearch: Pick<KeySearchStore, 'findByHash'>;
}

const { id, accountId, name, prefix, expiresAt, revokedAt } = keyMembers;
const importedKeyResponse = z
  .strictObject({ id, accountId, name, prefix, expiresAt, revokedAt })
  .meta({ id: 'ImportedKey' });
export type ImportedKeyResponse = z.infer<typeof importedKeyResponse>;

/** Takes over keys that other programs made: clients go on with what they have. Only a hash of it comes here. */
export function importedKeyEndpoints({ accounts, keys, keySearch, catalog }: ImportedKeyParts): AdminEndpoint[] {
  async function find(accountId: string, keyHash: Buffer) {
    const found = await keySearch.findByHash(keyHash);
    if (found === null) return null;
    if (found.key.accountId !== accountId) throw conflict('Another account has this key already.');
    return new Repeat(shown(importedKeyResponse, found.key));
  }

  async function make(accountId: string, keyHash: Buffer, body: ImportedKeyBody) {
    const { name, expiresAt = null, prefix, isRevoked } = body;
    const asked = {
      accountId,
      name,
      expiresAt,
      userId: null,
      limits: toLimitChange(body),
      rates: toRateChange(body, catalog()),
      // A model that the configuration has not yet stays in the list: without it the key could do more than before.
      allowed: toAllowListChange(body, { ...NO_ALLOW_LISTS, models: body.allowedModels ?? null }, catalog()),
    };
    const made = await orRefused(accountId, null, undefined, () =>
      keys.makeImported(asked, { keyHash, prefix, isRevoked }),
    );
    return shown(importedKeyResponse, made.key);
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/imported-keys',
      subject: { kind: 'key', isMadeInAccount: true },
      status: 201,
      summary: 'Take over a key that another program made, by the SHA-256 of it; the same one again changes nothing',
      body: importedKey,
      response: importedKeyResponse,
      async run({ id, body }) {
        await requireAccount(accounts, id);
        const keyHash = Buffer.from(body.sha256, 'hex');
        const known = await find(id, keyHash);
        if (known !== null) return known;
        try {
          return await make(id, keyHash, body);
        } catch (error) {
          // Somebody else has taken it over meanwhile.
          const other = isUniqueViolation(error) ? await find(id, keyHash) : null;
          if (other === null) throw error;
          return other;
        }
      },
    }),
  ];
}
