import type { z } from 'zod';
import type { RequestedVia } from '../../accounting/ledger/call-outcome.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { issueText } from './issue-text.ts';

/** What an admin endpoint gets of its request, checked against its schemas. */
export interface AdminInput<Query, Body> {
  /** The `:id` of the path; empty where the path has none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  readonly idempotencyKey: string | null;
  /** Which of the credentials of operators the request has. */
  readonly via: RequestedVia;
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

/** One address of the admin API. `run` returns the body of the response, or `null` for 204. */
export interface AdminEndpoint {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path behind the prefix, with `:id` where it names a resource. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  /** Whether only the command line of this machine may use it, not whoever has the operator's token. */
  readonly isLocal: boolean;
  /** Whether it may change something: then it is logged, and remembered refusals are forgotten. */
  readonly isChange: boolean;
  readonly querySchema: z.ZodType | null;
  readonly bodySchema: z.ZodType | null;
  readonly run: (input: AdminInput<unknown, unknown>) => Promise<object | null>;
}

interface AdminDefinition<QuerySchema extends z.ZodType, BodySchema extends z.ZodType> {
  readonly method: AdminEndpoint['method'];
  readonly path: string;
  readonly status?: AdminEndpoint['status'];
  readonly summary: string;
  readonly isLocal?: true;
  /** For what changes nothing although its method is not GET. */
  readonly isChange?: false;
  readonly query?: QuerySchema;
  readonly body?: BodySchema;
  readonly run: (input: AdminInput<z.infer<QuerySchema>, z.infer<BodySchema>>) => Promise<object | null>;
}

/** Makes an endpoint whose `run` sees the types of its schemas. */
export function adminEndpoint<
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
>(definition: AdminDefinition<QuerySchema, BodySchema>): AdminEndpoint {
  const { method, path, summary, run, query, body } = definition;
  return {
    method,
    path,
    summary,
    isLocal: definition.isLocal === true,
    isChange: method !== 'GET' && definition.isChange !== false,
    status: definition.status ?? 200,
    querySchema: query ?? null,
    bodySchema: body ?? null,
    run: (input) =>
      run({
        id: input.id,
        idempotencyKey: input.idempotencyKey,
        via: input.via,
        wantsCsv: input.wantsCsv,
        query: parseWith(query, input.query),
        body: parseWith(body, input.body),
      }),
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
