import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import { type AllowListChange, NO_ALLOW_LISTS } from '../../accounting/accounts/allow-lists.ts';
import type { ApiKey } from '../../accounting/accounts/api-key-store.ts';
import { createApiKey, displayPrefix, hashApiKey } from '../../accounting/accounts/key-format.ts';
import { type KeyLimitStore, NO_LIMITS } from '../../accounting/accounts/key-limit-store.ts';
import {
  ACTIVE_KEYS_MAX,
  KEYS_A_DAY_MAX,
  type KeysLimit,
  type OwnKeysLimit,
  TooManyKeysError,
} from '../../accounting/accounts/key-owner-store.ts';
import type { KeyReplacementStore } from '../../accounting/accounts/key-replacement-store.ts';
import type { KeyUseStore } from '../../accounting/accounts/key-use-store.ts';
import type { Principals } from '../../accounting/accounts/principals.ts';
import { NO_RATE_LIMITS, type RateLimitStore } from '../../accounting/accounts/rate-limit-store.ts';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { invalidRequest, quoted } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FillRandom, Ids } from '../../lib/ids.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { tooManyModels, toRateChange, underPresentNames } from '../accounts/rate-limits.ts';
import { conflict, notFound } from '../management/endpoint.ts';
import { at } from '../management/response-fields.ts';
import { toPage } from '../management/wire.ts';
import { toAllowListChange } from './allow-lists.ts';
import type { KeyChangeBody, KeyListQuery, NewKeyBody, ReplacementBody } from './key-body.ts';
import { keyMembers, keyToWire, toLimitChange } from './wire.ts';

export interface KeyAdminParts {
  readonly accounts: AccountStore;
  readonly keyLimits: KeyLimitStore;
  readonly keyReplacements: KeyReplacementStore;
  readonly keyUses: Pick<KeyUseStore, 'find'>;
  readonly rateLimits: RateLimitStore;
  readonly principals: Pick<Principals, 'forget'>;
  /** Whether a person belongs to an account, so that a key of the account may be that person's. */
  readonly isMember: (accountId: string, userId: string) => Promise<boolean>;
  /** The catalog in force. */
  readonly catalog: () => Catalog;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom?: FillRandom;
}

/** A new key, with its text. */
const created = { ...keyMembers, key: z.string() };
export const createdKey = z.strictObject(created).meta({ id: 'CreatedKey' });

/** A new key in place of another one. */
export const replacementKey = z
  .strictObject({
    ...created,
    replaces: z.strictObject({ id: z.string(), validUntil: at.describe('When the old key ends, or has ended.') }),
  })
  .meta({ id: 'ReplacementKey' });

/** Makes, lists, changes and ends keys, as both APIs do. */
export function keyKeeper(parts: KeyAdminParts) {
  const { accounts, keyLimits, keyReplacements, keyUses, rateLimits, principals, isMember, catalog, clock, ids } =
    parts;
  const fillRandom = parts.fillRandom ?? randomFillSync;

  async function withLimits(accountId: string, keys: readonly ApiKey[]) {
    const keyIds = keys.map(({ id }) => id);
    const limitsOf = await keyLimits.find(accountId, keyIds);
    const ratesOf = await rateLimits.ofKeys(keys);
    const lastUses = await keyUses.find(keys);
    return keys.map((key) => {
      const [limits, rates] = [limitsOf.get(key.id) ?? NO_LIMITS, ratesOf.get(key.id) ?? NO_RATE_LIMITS];
      return keyToWire(key, limits, underPresentNames(rates, catalog()), lastUses.get(key.id) ?? null);
    });
  }

  async function requireKey(id: string): Promise<ApiKey> {
    const key = await accounts.findKey(id);
    if (key === null) throw notFound('key', id);
    return key;
  }

  /**
   * Sets the limits that the change names, and makes every node forget its cached principal of the key. It does so also
   * if nothing changes, because an attempt before may have failed between the two steps.
   */
  async function changeLimits(accountId: string, keyId: string, change: KeyChangeBody): Promise<void> {
    const asked = toLimitChange(change);
    const askedRates = toRateChange(change, catalog());
    if (asked === undefined && askedRates === undefined) return;
    if (askedRates !== undefined && (await rateLimits.change({ accountId, keyId }, askedRates)) === 'too_many') {
      throw tooManyModels();
    }
    if (asked !== undefined) await keyLimits.change(accountId, keyId, asked);
    await accounts.announceChange(accountId);
    principals.forget(accountId);
  }

  /** Sets the allow-lists that the change names. Every node hears of it as of a revocation. */
  async function changeAllowLists(key: ApiKey, change: AllowListChange): Promise<ApiKey> {
    if (change.models === undefined && change.networks === undefined) return key;
    const changed = await accounts.changeAllowLists(key.id, change);
    if (changed === null) throw notFound('key', key.id);
    principals.forget(key.accountId);
    return changed;
  }

  return {
    /** A key of an account, with its text, which is not known afterwards. `ownKeys`: how many its person may have. */
    async create(accountId: string, body: NewKeyBody, ownKeys?: OwnKeysLimit) {
      const { userId = null } = body;
      if (userId !== null && ownKeys === undefined && !(await isMember(accountId, userId))) {
        throw invalidRequest(`userId: The account has no member ${quoted(userId)}.`, 'userId');
      }
      const key = createApiKey(fillRandom);
      const limits = toLimitChange(body);
      const allowed = toAllowListChange(body, NO_ALLOW_LISTS, catalog());
      const rates = toRateChange(body, catalog());
      const stored = await orTooManyKeys(ownKeys, () =>
        accounts.insertKey({
          accountId,
          id: ids.next('key'),
          name: body.name,
          keyHash: hashApiKey(key),
          prefix: displayPrefix(key),
          expiresAt: body.expiresAt ?? null,
          ...(limits === undefined ? {} : { limits }),
          ...(rates === undefined ? {} : { rateLimits: rates }),
          ...(body.scopes === undefined ? {} : { scopes: body.scopes }),
          allowed,
          userId,
          ownKeys,
          at: new Date(clock.nowMs()),
        }),
      );
      return { ...keyToWire(stored.key, stored.limits, stored.rateLimits, null), key };
    },

    async list(accountId: string, { cursor, limit, status, userId }: KeyListQuery) {
      const filter = { userId: userId ?? null, status: status ?? null, at: new Date(clock.nowMs()) };
      const keys = await accounts.listKeys(accountId, cursor ?? null, limit, filter);
      const wires = await withLimits(accountId, keys);
      return toPage(
        wires,
        limit,
        (key) => key,
        (key) => key.id,
      );
    },

    /** What the change log shows of a key. */
    subject: {
      kind: 'key',
      async read(id: string) {
        const key = await accounts.findKey(id);
        return key && (await withLimits(key.accountId, [key]))[0]!;
      },
    },

    async change(id: string, body: KeyChangeBody) {
      const key = await requireKey(id);
      // Checked before anything is changed.
      const allowed = toAllowListChange(body, key.allowed, catalog());
      await changeLimits(key.accountId, id, body);
      const [wire] = await withLimits(key.accountId, [await changeAllowLists(key, allowed)]);
      return wire!;
    },

    /** The new key, with its text, and when the old one ends. */
    async replace(id: string, { keepOldSeconds, expiresAt = null }: ReplacementBody, ownKeys?: OwnKeysLimit) {
      const { accountId } = await requireKey(id);
      const key = createApiKey(fillRandom);
      const done = await orTooManyKeys(ownKeys, () =>
        keyReplacements.replace({
          accountId,
          keyId: id,
          id: ids.next('key'),
          keyHash: hashApiKey(key),
          prefix: displayPrefix(key),
          expiresAt,
          keepOldMs: keepOldSeconds * 1_000,
          ownKeys,
          at: new Date(clock.nowMs()),
        }),
      );
      if (done === null) throw conflict('The key is revoked or has expired. Create another one.');
      principals.forget(accountId);
      const { replaced } = done;
      const [wire] = await withLimits(accountId, [done.key]);
      const validUntil = replaced.revokedAt ?? replaced.expiresAt!;
      return { ...wire!, key, replaces: { id, validUntil: validUntil.toISOString() } };
    },

    async revoke(id: string): Promise<null> {
      const accountId = await accounts.revokeKey(id, new Date(clock.nowMs()));
      if (accountId === null) throw notFound('key', id);
      principals.forget(accountId);
      return null;
    },
  };
}

const TOO_MANY: Readonly<Record<KeysLimit, (own: OwnKeysLimit | undefined) => string>> = {
  own: (own) => `You have ${own!.keysMax} keys that can be used, which is the most. Revoke one first.`,
  active: () => `The account has ${ACTIVE_KEYS_MAX} keys that can be used, which is the most. Revoke one first.`,
  made: () =>
    `${KEYS_A_DAY_MAX} keys were made for the account in a day, which is the most. Make further ones tomorrow.`,
};

async function orTooManyKeys<Result>(ownKeys: OwnKeysLimit | undefined, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof TooManyKeysError)) throw error;
    throw conflict(TOO_MANY[error.limit](ownKeys));
  }
}
