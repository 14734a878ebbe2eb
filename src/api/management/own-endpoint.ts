import type { z } from 'zod';
import type { AccountNeed } from '../../people/access.ts';
import { type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from './endpoint.ts';
import type { AccountEntry } from './guard.ts';

/** Resources whose id a path can contain. Before the endpoint runs, the server checks that the resource belongs to the account. */
export type OwnedResource = 'key' | 'call' | 'webhook';

/** An endpoint of the account API. `run` must not read or change anything outside of the scope in its context. */
export interface AccountEndpoint extends ManagementEndpoint<AccountNeed, AccountEntry> {
  /** Kind of resource of the `:id`; `null`: the path has none, or the endpoint searches only in its own account. */
  readonly resource: OwnedResource | null;
}

interface AccountDefinition<
  QuerySchema extends z.ZodType,
  BodySchema extends z.ZodType,
  ResponseSchema extends z.ZodType | null,
> extends ManagementDefinition<AccountNeed, AccountEntry, QuerySchema, BodySchema, ResponseSchema> {
  readonly resource?: OwnedResource;
}

/** Creates an endpoint. The types of `run` follow from the schemas. */
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
