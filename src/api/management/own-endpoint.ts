import type { z } from 'zod';
import type { AccountNeed } from '../../people/access.ts';
import { type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from './endpoint.ts';
import type { AccountEntry } from './guard.ts';

/** The resource of an `:id` in the account API. The server checks its account before the endpoint runs. */
export type OwnedResource = 'key' | 'call' | 'webhook';

/** An endpoint of the account API. It reads and changes nothing outside the scope of its context. */
export interface AccountEndpoint extends ManagementEndpoint<AccountNeed, AccountEntry> {
  /** The resource of the `:id`; `null` if there is none, or if the endpoint itself searches only its account. */
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
