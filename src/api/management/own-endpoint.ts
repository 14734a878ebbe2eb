import type { z } from 'zod';
import type { AccountNeed } from '../../people/access.ts';
import { type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from './endpoint.ts';
import type { AccountEntry } from './guard.ts';

/**
 * Kinds of resources that an `:id` in the account API can name. The server checks that the resource belongs to the account before the endpoint runs.
 */
export type OwnedResource = 'key' | 'call' | 'webhook';

/** An endpoint of the account API. It must not read or change anything outside the scope in its context. */
export interface AccountEndpoint extends ManagementEndpoint<AccountNeed, AccountEntry> {
  /** The kind of resource that `:id` names; `null` if the path has no `:id`, or if the endpoint itself searches only its account. */
  readonly resource: OwnedResource | null;
}

interface AccountDefinition<
  QuerySchema extends z.ZodType,
  BodySchema extends z.ZodType,
  ResponseSchema extends z.ZodType | null,
> extends ManagementDefinition<AccountNeed, AccountEntry, QuerySchema, BodySchema, ResponseSchema> {
  readonly resource?: OwnedResource;
}

/** Creates an endpoint whose `run` has the types of its schemas. */
export function accountEndpoint<
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
  ResponseSchema extends z.ZodType | null = null,
>(definition: AccountDefinition<QuerySchema, BodySchema, ResponseSchema>): AccountEndpoint {
  return {
    ...managementEndpoint<AccountNeed, AccountEntry, QuerySchema, BodySchema, ResponseSchema>(definition),
    resource: definition.resource ?? null,
  };
}
