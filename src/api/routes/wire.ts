import { z } from 'zod';
import { formatYuan } from '../../lib/yuan.ts';
import { signerIdOf } from '../../people/actor.ts';
import type { Model, Route } from '../../providers/catalog/catalog.ts';
import type { LimitedSubject } from '../../providers/limits/provider-limits.ts';
import type { Drain } from '../../providers/routing/drains/drain-store.ts';
import type { RouteStatus } from '../../providers/routing/health.ts';
import type { CredentialStatus } from '../../providers/upstream/credentials.ts';
import { at, count, listOf, signerId, yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { instantToWire } from '../management/wire.ts';

export const drainMembers = {
  provider: z.string(),
  model: z.string().nullable().describe('null: all models.'),
  providerModel: z
    .string()
    .nullable()
    .describe('The provider’s name of the model; null: all of the provider’s model names.'),
  reason: z.string().nullable(),
  by: z.string(),
  byId: signerId,
  since: at,
};

const drainResponse = z.strictObject(drainMembers).meta({ id: 'Drain' });
export type DrainResponse = z.infer<typeof drainResponse>;

const breakerState = z.enum(['closed', 'open', 'probing']);

const vendorLimit = z.strictObject({
  of: z.enum(['requests', 'tokens', 'input-tokens', 'output-tokens']),
  max: count.nullable(),
  remaining: count,
  resetAt: at.nullable(),
});

const limitResponse = z
  .strictObject({
    of: z.enum(['provider', 'route', 'credential']),
    provider: z.string(),
    model: z.string().nullable().describe('null: not a route.'),
    providerModel: z.string().nullable(),
    credential: z.string().nullable().describe('Name of the credential; null: not a credential.'),
    rates: listOf(
      z.strictObject({
        kind: z.enum(['requestsPerMinute', 'tokensPerMinute', 'concurrentCalls']),
        max: count,
        used: count.describe('What is in use, by this node’s knowledge of all nodes.'),
        freeAt: at.nullable().describe('When a call is allowed again; null: now, or when another call has ended.'),
      }),
    ),
    budgets: listOf(
      z.strictObject({
        kind: z.enum(['day', 'month']),
        maxYuan: yuan,
        usedYuan: yuan.describe('Cost of the calls that have ended, some seconds old.'),
        endsAt: at.nullable().describe('null: the costs are not known yet.'),
      }),
    ),
  })
  .meta({ id: 'ProviderLimit' });
export type LimitResponse = z.infer<typeof limitResponse>;
export const limitsResponse = listOf(limitResponse);

export const routeResponse = z
  .strictObject({
    model: z.string(),
    provider: z.string(),
    providerModel: z.string(),
    priority: z.int(),
    weight: z.number().min(0),
    translates: listOf(z.string()).describe('Operations whose requests are translated for the provider.'),
    state: z.enum(['off', ...breakerState.options]),
    drained: drainResponse.nullable(),
    failuresInARow: count,
    lastError: z.string().nullable(),
    lastErrorAt: at.nullable(),
    triedAgainAt: at.nullable(),
    accountBreakers: listOf(
      z.strictObject({
        accountId: z.string(),
        state: breakerState,
        failuresInARow: count,
        triedAgainAt: at.nullable(),
      }),
    ),
    credentials: listOf(
      z.strictObject({
        name: z.string(),
        file: z.string().nullable(),
        command: z.string().nullable().describe('The command that prints the credential.'),
        expiresAt: at.nullable().describe('When it expires, if it is one of a command that said so.'),
        state: z.enum(['active', 'resting', 'refused', 'missing']).describe('missing: its command gives none.'),
        status: z.int().nullable().describe('The HTTP status with which the provider refused the credential.'),
        triedAgainAt: at.nullable(),
        lastUsedAt: at.nullable().describe('null: this node has not used it since it started.'),
        vendorLimits: listOf(vendorLimit).describe(
          'Remaining amounts of the vendor’s rate limits for this model, by its last response; empty unless the provider has `vendorLimits: follow`.',
        ),
      }),
    ),
  })
  .meta({ id: 'Route' });
export type RouteResponse = z.infer<typeof routeResponse>;

export function routeToWire(
  { id: model, routesByOperation }: Pick<Model, 'id' | 'routesByOperation'>,
  route: Route,
  status: RouteStatus,
  credentials: readonly CredentialStatus[],
  drain: Drain | null,
): RouteResponse {
  const { state, failuresInARow, lastFailure, probeAtMs, accounts } = status;
  return shown(routeResponse, {
    ...route,
    model,
    provider: route.providerId,
    translates: [...(routesByOperation ?? [])].flatMap(([{ name }, routes]) =>
      routes.some(({ id, translation }) => id === route.id && translation !== undefined) ? [name] : [],
    ),
    state: route.weight === 0 ? 'off' : state,
    drained: drain === null ? null : drainToWire(drain),
    failuresInARow,
    lastError: lastFailure?.reason ?? null,
    lastErrorAt: instantToWire(lastFailure?.atMs ?? null),
    triedAgainAt: instantToWire(probeAtMs),
    accountBreakers: accounts.map(({ probeAtMs, ...account }) => ({
      ...account,
      triedAgainAt: instantToWire(probeAtMs),
    })),
    credentials: credentials.map(({ expiresAtMs, triedAgainAtMs, usedAtMs, vendorLimits, ...credential }) => ({
      ...credential,
      expiresAt: instantToWire(expiresAtMs),
      triedAgainAt: instantToWire(triedAgainAtMs),
      lastUsedAt: instantToWire(usedAtMs),
      vendorLimits: vendorLimits.map(({ resetAtMs, ...limit }) => ({ ...limit, resetAt: instantToWire(resetAtMs) })),
    })),
  });
}

export function limitToWire({ use, credentialId: _, ...subject }: LimitedSubject, nowMs: number): LimitResponse {
  return {
    ...subject,
    rates: use.limitStatus(nowMs).map(({ freeAtMs, ...rate }) => ({ ...rate, freeAt: instantToWire(freeAtMs) })),
    budgets: use.budgetStatus.map(({ kind, maxNano, usedNano, endsAtMs }) => ({
      kind,
      maxYuan: formatYuan(maxNano),
      usedYuan: formatYuan(usedNano),
      endsAt: instantToWire(Number.isFinite(endsAtMs) ? endsAtMs : null),
    })),
  };
}

export function drainToWire(drain: Drain): DrainResponse {
  const { providerId: provider, drainedBy: by, drainedAt: since } = drain;
  return shown(drainResponse, { ...drain, provider, by, byId: signerIdOf(by), since });
}
