import type { z } from 'zod';
import { type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from '../management/endpoint.ts';
import type { Visit } from './visit.ts';

/** Who may use an address about oneself: everybody, or a person who has signed in. */
export type VisitNeed = 'anyone' | 'signed_in';

/** One address by which people sign in, or look after what is their own whatever accounts they have. */
export type PeopleEndpoint = ManagementEndpoint<VisitNeed, Visit>;

/** Makes an endpoint whose `run` sees the types of its schemas. */
export function peopleEndpoint<
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
  ResponseSchema extends z.ZodType | null = null,
>(definition: ManagementDefinition<VisitNeed, Visit, QuerySchema, BodySchema, ResponseSchema>): PeopleEndpoint {
  return managementEndpoint<VisitNeed, Visit, QuerySchema, BodySchema, ResponseSchema>(definition);
}
