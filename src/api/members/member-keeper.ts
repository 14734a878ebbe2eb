import { z } from 'zod';
import { type MemberLimitStore, NO_MEMBER_LIMITS } from '../../accounting/accounts/key-limit-store.ts';
import type { MemberLimits } from '../../accounting/accounts/key-limit-tables.ts';
import { type ModelBudgetStore, NO_MODEL_BUDGETS } from '../../accounting/accounts/model-budget-store.ts';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import type { KeyBudgetStore } from '../../accounting/reservations/key-budget-store.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AccountRole } from '../../people/actor.ts';
import type { KeysOfRemoved, Member, MembershipStore } from '../../people/membership-store.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { allowListFields, toAllowListChange } from '../accounts/allow-lists.ts';
import {
  askedModelBudgets,
  budgetIdsIn,
  modelBudgetsToWire,
  orTooManyBudgets,
  shownModelBudgets,
  toBudgetChanges,
  usedByModelToWire,
} from '../keys/model-budgets.ts';
import { askedLimits, limitsToWire, shownLimits, toLimitChange, usedMember, usedToWire } from '../keys/wire.ts';
import { notFound, orNotFound } from '../management/endpoint.ts';
import { at, listOf } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { shortText, toPage } from '../management/wire.ts';
import { accountRole } from '../sessions/fields.ts';
import { peopleError } from '../sessions/people-errors.ts';
import { userStatus } from '../sessions/wire.ts';

/** Manages members of an account, and the limits on all keys of a member together, for both APIs. */

export interface MemberKeeperDependencies {
  readonly members: MembershipStore;
  readonly memberLimits: MemberLimitStore;
  readonly modelBudgets: ModelBudgetStore;
  readonly keyBudgets: Pick<KeyBudgetStore, 'uses'>;
  readonly catalog: () => Catalog;
  readonly periods: () => RunningPeriods;
  readonly clock: Clock;
}

const memberLimitMembers = {
  ...shownLimits,
  ...shownModelBudgets,
  allowedModels: listOf(z.string()).nullable(),
  ...usedMember,
};

export const memberLimitsResponse = z.strictObject(memberLimitMembers).meta({ id: 'MemberLimits' });

export const memberResponse = z
  .strictObject({
    userId: z.string(),
    email: z.string().nullable(),
    name: z.string(),
    role: accountRole,
    status: userStatus,
    since: at,
    lastSignInAt: at.nullable(),
    ...memberLimitMembers,
  })
  .meta({ id: 'Member' });
export type MemberResponse = z.infer<typeof memberResponse>;

/** A change of a member. `null` removes a limit; an absent field leaves it unchanged. */
export const memberChange = z.strictObject({
  role: accountRole.optional(),
  ...askedLimits,
  ...askedModelBudgets,
  allowedModels: allowListFields.allowedModels,
});

export const keysOfRemoved = {
  keys: z.enum(['keep', 'revoke']).default('keep'),
  keysTo: shortText.optional(),
};

type AskedKeys = z.infer<z.ZodObject<typeof keysOfRemoved>>;

/** What the audit log says about the keys of a removed member; `null`: they were kept. */
export const notedKeys = ({ keys, keysTo }: AskedKeys): object | null =>
  keysTo === undefined ? (keys === 'keep' ? null : { areKeysRevoked: true }) : { keysTo };

const memberLimitsToWire = ({ allowedModels, ...limits }: MemberLimits) => ({ ...limitsToWire(limits), allowedModels });

export function memberKeeper(dependencies: MemberKeeperDependencies) {
  const { members, memberLimits, modelBudgets, keyBudgets, catalog, periods, clock } = dependencies;

  async function limitsOf(accountId: string, userIds: readonly string[]) {
    const limits = await memberLimits.find(accountId, userIds);
    const budgetsOf = await modelBudgets.find(userIds.map((ownerId) => ({ accountId, ownerId })));
    const uses = await keyBudgets.uses(accountId, [...userIds, ...budgetIdsIn(budgetsOf)], periods());
    return (userId: string) => {
      const budgets = budgetsOf.get(userId) ?? NO_MODEL_BUDGETS;
      return {
        ...memberLimitsToWire(limits.get(userId) ?? NO_MEMBER_LIMITS),
        modelBudgets: modelBudgetsToWire(budgets, catalog()),
        used: usedToWire(uses.get(userId)),
        usedByModel: usedByModelToWire(userId, budgets, uses, catalog()),
      };
    };
  }

  async function toWires(accountId: string, found: readonly Member[]): Promise<MemberResponse[]> {
    const ofUser = await limitsOf(
      accountId,
      found.map(({ userId }) => userId),
    );
    return found.map((member) => shown(memberResponse, { ...member, ...ofUser(member.userId) }));
  }

  async function find(accountId: string, userId: string): Promise<MemberResponse | null> {
    const member = await members.find(accountId, userId);
    return member && (await toWires(accountId, [member]))[0]!;
  }

  const requireMember = async (accountId: string, userId: string): Promise<MemberResponse> =>
    orNotFound(await find(accountId, userId), 'member', userId);

  return {
    requireMember,

    async read(accountId: string, userId: string) {
      const member = await find(accountId, userId);
      if (member === null) return null;
      const { used: _used, usedByModel: _usedByModel, ...shown } = member;
      return shown;
    },

    async list(accountId: string, { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number }) {
      const found = await members.list(accountId, cursor ?? null, limit);
      return toPage(await toWires(accountId, found), limit, ({ userId }) => userId);
    },

    /** Limits of a user; none if the user has left the account. */
    limitsOf: async (accountId: string, userId: string | null) =>
      (await limitsOf(accountId, userId === null ? [] : [userId]))(userId ?? ''),

    /** `keepsOwner`: the last owner cannot lose this role. */
    async change(
      accountId: string,
      userId: string,
      { role, allowedModels, modelBudgets: asked, ...limits }: z.infer<typeof memberChange>,
      keepsOwner: boolean,
    ): Promise<MemberResponse> {
      const { allowedModels: current } = await requireMember(accountId, userId);
      const { models } = toAllowListChange({ allowedModels }, { models: current, networks: null }, catalog());
      const change = { ...toLimitChange(limits), ...(models !== undefined && { allowedModels: models }) };
      const budgets = toBudgetChanges({ modelBudgets: asked }, catalog());
      if (role !== undefined) await changeRole(accountId, userId, role, keepsOwner);
      if (Object.keys(change).length + budgets.length > 0) {
        await orTooManyBudgets(() => memberLimits.change(accountId, userId, change, budgets));
      }
      return requireMember(accountId, userId);
    },

    async remove(accountId: string, userId: string, { keys, keysTo }: AskedKeys, keepsOwner: boolean): Promise<void> {
      if (keysTo !== undefined && keys === 'revoke') {
        throw invalidRequest('keysTo: Send either keys=revoke or keysTo, not both.', 'keysTo');
      }
      const kept: KeysOfRemoved = keys === 'revoke' ? 'revoked' : 'kept';
      const ofRemoved: KeysOfRemoved = keysTo === undefined ? kept : { handedTo: keysTo };
      const refusal = await members.remove(accountId, userId, keepsOwner, new Date(clock.nowMs()), ofRemoved);
      if (refusal === 'absent') throw notFound('member', userId);
      if (refusal !== null) throw peopleError(refusal);
    },
  };

  async function changeRole(accountId: string, userId: string, role: AccountRole, keepsOwner: boolean): Promise<void> {
    const refusal = await members.changeRole(accountId, userId, role, keepsOwner);
    if (refusal === 'absent') throw notFound('member', userId);
    if (refusal !== null) throw peopleError(refusal);
  }
}
