import { z } from 'zod';
import { signerIdOf } from '../../people/actor.ts';
import type { Model, Route } from '../../providers/catalog/catalog.ts';
import type { Drain } from '../../providers/routing/drains/drain-store.ts';
import type { RouteStatus } from '../../providers/routing/health.ts';
import type { CredentialStatus } from '../../providers/upstream/credentials.ts';
import { at, count, listOf, signerId } from '../management/response-fields.ts';
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
        state: z.enum(['active', 'resting', 'refused']),
        status: z.int().nullable().describe('The HTTP status with which the provider refused the credential.'),
        triedAgainAt: at.nullable(),
        lastUsedAt: at.nullable().describe('null: this node has not used it since it started.'),
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
    credentials: credentials.map(({ name, file, state, status, triedAgainAtMs, usedAtMs }) => ({
      name,
      file,
      state,
      status,
      triedAgainAt: instantToWire(triedAgainAtMs),
      lastUsedAt: instantToWire(usedAtMs),
    })),
  });
}

export function drainToWire(drain: Drain): DrainResponse {
  const { providerId: provider, drainedBy: by, drainedAt: since } = drain;
  return shown(drainResponse, { ...drain, provider, by, byId: signerIdOf(by), since });
}
