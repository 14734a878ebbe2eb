import type { z } from 'zod';
import { type ManagementDefinition, type ManagementEndpoint, managementEndpoint } from '../management/endpoint.ts';
import type { Visit } from './visit.ts';

export type VisitNeed = 'anyone' | 'signed_in';

export type PeopleEndpoint = ManagementEndpoint<VisitNeed, Visit>;

export function peopleEndpoint<
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
  ResponseSchema extends z.ZodType | null = null,
>(definition: ManagementDefinition<VisitNeed, Visit, QuerySchema, BodySchema, ResponseSchema>): PeopleEndpoint {
  return managementEndpoint<VisitNeed, Visit, QuerySchema, BodySchema, ResponseSchema>(definition);
}
