import type { z } from 'zod';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { issueText } from './issue-text.ts';

/** What an endpoint of the admin API or the account API gets of its request, checked against its schemas. */
export interface ManagementInput<Query, Body> {
  /** The `:id` of the path; empty where the path has none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  readonly idempotencyKey: string | null;
  /** Whether the client asks for CSV. */
  readonly wantsCsv: boolean;
}

/** A body that is sent line by line, as it is made. */
export class LineStream {
  readonly chunks: AsyncIterable<string>;
  readonly contentType: string;

  constructor(chunks: AsyncIterable<string>, contentType = 'application/x-ndjson') {
    this.chunks = chunks;
    this.contentType = contentType;
  }
}

/**
 * One address. `run` returns the body of the response, or `null` for 204.
 *
 * `Need`: who may use it; `Context`: who does, and what of.
 */
export interface ManagementEndpoint<Need, Context> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path behind the prefix, with `:id` where it names a resource. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  readonly needs: Need;
  /** Whether it may change something: then it is logged, and remembered refusals are forgotten. */
  readonly isChange: boolean;
  readonly querySchema: z.ZodType | null;
  readonly bodySchema: z.ZodType | null;
  /** What a JSON answer looks like; `null` where there is none. */
  readonly answerSchema: z.ZodType | null;
  readonly run: (input: ManagementInput<unknown, unknown>, context: Context) => Promise<object | null>;
}

export interface ManagementDefinition<Need, Context, QuerySchema extends z.ZodType, BodySchema extends z.ZodType> {
  readonly method: ManagementEndpoint<Need, Context>['method'];
  readonly path: string;
  readonly status?: ManagementEndpoint<Need, Context>['status'];
  readonly summary: string;
  readonly needs: Need;
  /** For what changes nothing although its method is not GET. */
  readonly isChange?: false;
  readonly query?: QuerySchema;
  readonly body?: BodySchema;
  readonly answer?: z.ZodType;
  readonly run: (
    input: ManagementInput<z.infer<QuerySchema>, z.infer<BodySchema>>,
    context: Context,
  ) => Promise<object | null>;
}

/** Makes an endpoint whose `run` sees the types of its schemas. */
export function managementEndpoint<
  Need,
  Context,
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
>(definition: ManagementDefinition<Need, Context, QuerySchema, BodySchema>): ManagementEndpoint<Need, Context> {
  const { method, path, summary, needs, run, query, body } = definition;
  return {
    method,
    path,
    summary,
    needs,
    isChange: method !== 'GET' && definition.isChange !== false,
    status: definition.status ?? 200,
    querySchema: query ?? null,
    bodySchema: body ?? null,
    answerSchema: definition.answer ?? null,
    run: (input, context) =>
      run({ ...input, query: parseWith(query, input.query), body: parseWith(body, input.body) }, context),
  };
}

function parseWith<Schema extends z.ZodType>(schema: Schema | undefined, value: unknown): z.infer<Schema> {
  if (schema === undefined) return undefined as z.infer<Schema>;
  const result = schema.safeParse(value, { error: issueText });
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path;
  const param = path.join('.');
  throw invalidRequest(param === '' ? issue.message : `${param}: ${issue.message}`, param === '' ? undefined : param);
}

/** The 404 of a resource that does not exist. */
export function notFound(what: string, id: string): GatewayError {
  return new GatewayError('pathUnknown', { message: `There is no ${what} ${id.slice(0, 100)}.` });
}

/** What is asked for does not go with what is there. */
export function conflict(message: string): GatewayError {
  return new GatewayError('conflict', { message });
}

/** What is asked for is well formed, and cannot be done. */
export function unprocessable(message: string, param?: string): GatewayError {
  return new GatewayError('unprocessable', param === undefined ? { message } : { message, param });
}
