import type { z } from 'zod';
import type { AccountNeed } from '../../people/access.ts';
import { type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from './endpoint.ts';
import type { AccountEntry } from './guard.ts';

/** What an `:id` of the account API names. The server finds whose it is before the endpoint runs. */
export type OwnedResource = 'key' | 'call' | 'webhook';

/** One address of the account API. It sees and changes nothing outside of the scope of its context. */
export interface AccountEndpoint extends ManagementEndpoint<AccountNeed, AccountEntry> {
  /** What the `:id` of the path names; `null` if the path has none, or the endpoint looks for it in its account alone. */
  readonly resource: OwnedResource | null;
}

interface AccountDefinition<
  QuerySchema extends z.ZodType,
  BodySchema extends z.ZodType,
  ResponseSchema extends z.ZodType | null,
> extends ManagementDefinition<AccountNeed, AccountEntry, QuerySchema, BodySchema, ResponseSchema> {
  readonly resource?: OwnedResource;
}

/** Makes an endpoint whose `run` sees the types of its schemas. */
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
