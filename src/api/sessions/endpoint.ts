import type { z } from 'zod';
import { type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from '../management/endpoint.ts';
import type { Visit } from './visit.ts';

/** Who may use an endpoint: everyone, or a signed-in user. */
export type VisitNeed = 'anyone' | 'signed_in';

/** An endpoint for signing in or for a user's own data. */
export type PeopleEndpoint = ManagementEndpoint<VisitNeed, Visit>;

/** Creates an endpoint whose `run` has the types of its schemas. */
export function peopleEndpoint<
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
  ResponseSchema extends z.ZodType | null = null,
>(definition: ManagementDefinition<VisitNeed, Visit, QuerySchema, BodySchema, ResponseSchema>): PeopleEndpoint {
  return managementEndpoint<VisitNeed, Visit, QuerySchema, BodySchema, ResponseSchema>(definition);
}
