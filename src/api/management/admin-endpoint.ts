import type { z } from 'zod';
import type { AdminNeed } from '../../people/access.ts';
import type { Actor } from '../../people/actor.ts';
import { isChangeBy, type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from './endpoint.ts';

export interface AdminContext {
  readonly actor: Actor;
}

export type AdminEndpoint = ManagementEndpoint<AdminNeed, AdminContext>;

type AdminDefinition<
  QuerySchema extends z.ZodType,
  BodySchema extends z.ZodType,
  ResponseSchema extends z.ZodType | null,
> = Omit<ManagementDefinition<AdminNeed, AdminContext, QuerySchema, BodySchema, ResponseSchema>, 'needs'> & {
  /** Permission that is required. Default: operators and, if the endpoint only reads, auditors. */
  readonly needs?: AdminNeed;
};

/** Creates an endpoint. The types of `run` follow from the schemas. */
export function adminEndpoint<
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
  ResponseSchema extends z.ZodType | null = null,
>(definition: AdminDefinition<QuerySchema, BodySchema, ResponseSchema>): AdminEndpoint {
  const needs = definition.needs ?? (isChangeBy(definition) ? 'change' : 'read');
  return managementEndpoint<AdminNeed, AdminContext, QuerySchema, BodySchema, ResponseSchema>({ ...definition, needs });
}
