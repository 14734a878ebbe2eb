import { z } from 'zod';
import { NO_ALLOW_LISTS } from '../../accounting/accounts/allow-lists.ts';
import type { KeySearchStore } from '../../accounting/accounts/key-search-store.ts';
import { isUniqueViolation } from '../../db/errors.ts';
import { toAllowListChange } from '../accounts/allow-lists.ts';
import { toRateChange } from '../accounts/rate-limits.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict, Repeat } from '../management/endpoint.ts';
import { shown } from '../management/shown.ts';
import { type ImportedKeyBody, importedKey } from './key-body.ts';
import { type KeyAdminDependencies, orRefused } from './key-keeper.ts';
import { toBudgetChanges } from './model-budgets.ts';
import { keyMembers, toLimitChange } from './wire.ts';

interface ImportedKeyDependencies extends Pick<KeyAdminDependencies, 'accounts' | 'keys' | 'catalog'> {
  readonly keySearch: Pick<KeySearchStore, 'findByHash'>;
}

const { id, accountId, name, prefix, expiresAt, revokedAt } = keyMembers;
const importedKeyResponse = z
  .strictObject({ id, accountId, name, prefix, expiresAt, revokedAt })
  .meta({ id: 'ImportedKey' });

/** Endpoints that import keys of another gateway by their hash, so that clients can keep these keys. */
export function importedKeyEndpoints({ accounts, keys, keySearch, catalog }: ImportedKeyDependencies): AdminEndpoint[] {
  async function find(accountId: string, keyHash: Buffer) {
    const found = await keySearch.findByHash(keyHash);
    if (found === null) return null;
    if (found.key.accountId !== accountId) throw conflict('This key belongs to another account.');
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
      budgets: toBudgetChanges(body, catalog()),
      // Models that are not configured yet stay in the list. Otherwise the key would be less restricted than before.
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
      summary: 'Import a key created by another program, by its SHA-256; repeats change nothing',
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
          // A concurrent request may have imported the same key.
          const other = isUniqueViolation(error) ? await find(id, keyHash) : null;
          if (other === null) throw error;
          return other;
        }
      },
    }),
  ];
}
