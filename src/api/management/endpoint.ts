import type { z } from 'zod';
import { GatewayError, invalidRequest, quoted } from '../../errors/gateway-error.ts';
import { issueText } from './issue-text.ts';

/** The validated request of an endpoint of the admin API or the account API. */
export interface ManagementInput<Query, Body> {
  /** The `:id` of the path; empty if the path has none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  readonly idempotencyKey: string | null;
  /** Whether the client accepts CSV. */
  readonly wantsCsv: boolean;
}

/** A response body that is streamed line by line. */
export class LineStream {
  /** Each chunk waits in the queue of its caller once, so it should have several lines. */
  readonly chunks: AsyncIterable<string>;
  readonly contentType: string;
  /** The JSON response that this stream replaces, for the audit log; `null` if there is none. */
  readonly inPlaceOf: object | null;

  constructor(chunks: AsyncIterable<string>, contentType = 'application/x-ndjson', inPlaceOf: object | null = null) {
    this.chunks = chunks;
    this.contentType = contentType;
    this.inPlaceOf = inPlaceOf;
  }

  /** A stream of a text that is complete already. */
  static of(text: string, contentType: string, inPlaceOf: object | null = null): LineStream {
    return new LineStream(once(text), contentType, inPlaceOf);
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** The stored response to a repeated request. Nothing was changed, so the audit log has no entry for it. */
export class Repeat<Response extends object> {
  readonly response: Response;

  constructor(response: Response) {
    this.response = response;
  }

  static if<Response extends object>(isRepeat: boolean, response: Response): Response | Repeat<Response> {
    return isRepeat ? new Repeat(response) : response;
  }
}

/** A streamed response in place of the JSON response. */
interface LinesResponse {
  readonly mediaType: 'text/csv' | 'application/x-ndjson';
  /** When the endpoint streams, and what the lines are. */
  readonly description: string;
}

/** What `run` returns for this response schema. */
type ResponseOf<ResponseSchema extends z.ZodType | null> = ResponseSchema extends z.ZodType
  ? Promise<z.infer<ResponseSchema> | Repeat<z.infer<ResponseSchema> & object> | LineStream>
  : Promise<void> | Promise<LineStream>;

/**
 * One endpoint. `run` returns the body of the response, or `null` for 204.
 *
 * `Need`: the required permission; `Context`: the caller and the scope of the request.
 */
export interface ManagementEndpoint<Need, Context> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path after the prefix, with `:id` if it names a resource. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  readonly needs: Need;
  /** Whether the endpoint may change something. Changes are logged, and clear remembered refusals. */
  readonly isChange: boolean;
  readonly querySchema: z.ZodType | null;
  readonly bodySchema: z.ZodType | null;
  /** `null` if there is no JSON response. */
  readonly responseSchema: z.ZodType | null;
  readonly lines: LinesResponse | null;
  /** Whether requests with an `Idempotency-Key` can be repeated safely. */
  readonly isRepeatable: boolean;
  readonly subject: ChangeSubject<unknown, unknown, Context>;
  /**
   * Validates a request. `run` takes the result.
   *
   * @throws GatewayError `invalidRequest`
   */
  readonly check: (input: ManagementInput<unknown, unknown>) => ManagementInput<unknown, unknown>;
  readonly run: (input: ManagementInput<unknown, unknown>, context: Context) => Promise<object | null>;
}

/** What an endpoint changes, for the audit log. Default: derived from the path. */
export interface ChangeSubject<Query = unknown, Body = unknown, Context = unknown> {
  /** For example `account`. */
  readonly kind: string;
  /** The `:id` of the path is the account in which the subject is created. */
  readonly isMadeInAccount?: true;
  /** The response shows the subject before its removal. */
  readonly isResponseBefore?: true;
  /** The subject may look unchanged after a change. */
  readonly showsNoDifference?: true;
  /** The id of the subject, if it is not the `:id` of the path; `null`: the subject has no id yet. */
  named?(input: ManagementInput<Query, Body>, context: Context): string | null;
  /** The id of the subject in a response, if it is not the member `id`. */
  responded?(response: object): string | null;
  /** Details of the request that the subject does not show, such as a memo. */
  noted?(input: ManagementInput<Query, Body>): object | null;
  /** The subject as in responses; `null`, or a 404, if it does not exist. */
  read?(id: string, input: ManagementInput<Query, Body>, context: Context): Promise<object | null>;
}

export interface ManagementDefinition<
  Need,
  Context,
  QuerySchema extends z.ZodType,
  BodySchema extends z.ZodType,
  ResponseSchema extends z.ZodType | null,
> {
  readonly method: ManagementEndpoint<Need, Context>['method'];
  readonly path: string;
  /** Default: 200, or 204 without a response body. */
  readonly status?: 201;
  readonly summary: string;
  readonly needs: Need;
  /** For reads with another method than GET. Changes never use GET, because a page of another site can send it. */
  readonly isChange?: false;
  /** `run` reads the `Idempotency-Key`. If absent, it must not. */
  readonly isRepeatable?: true;
  readonly query?: QuerySchema;
  readonly body?: BodySchema;
  /** Schema of the JSON response, documented and checked in tests. Absent: no response, or lines only. */
  readonly response?: ResponseSchema;
  readonly lines?: LinesResponse;
  readonly subject?: ChangeSubject<z.infer<QuerySchema>, z.infer<BodySchema>, Context>;
  readonly run: (
    input: ManagementInput<z.infer<QuerySchema>, z.infer<BodySchema>>,
    context: Context,
  ) => ResponseOf<ResponseSchema>;
}

export const isChangeBy = ({
  method,
  isChange,
}: {
  readonly method: ManagementEndpoint<never, never>['method'];
  readonly isChange?: false;
}): boolean => method !== 'GET' && isChange !== false;

/** Creates an endpoint whose `run` has the types of its schemas. */
export function managementEndpoint<
  Need,
  Context,
  QuerySchema extends z.ZodType = z.ZodUnknown,
  BodySchema extends z.ZodType = z.ZodUnknown,
  ResponseSchema extends z.ZodType | null = null,
>(
  definition: ManagementDefinition<Need, Context, QuerySchema, BodySchema, ResponseSchema>,
): ManagementEndpoint<Need, Context> {
  const {
    method,
    path,
    summary,
    needs,
    run,
    query,
    body,
    response = null,
    lines = null,
    isRepeatable = false,
  } = definition;
  return {
    method,
    path,
    summary,
    needs,
    isChange: isChangeBy(definition),
    isRepeatable,
    status: definition.status ?? (response === null && lines === null ? 204 : 200),
    querySchema: query ?? null,
    bodySchema: body ?? null,
    responseSchema: response,
    lines,
    // `check` has validated the input.
    subject: (definition.subject as ChangeSubject<unknown, unknown, Context> | undefined) ?? {
      kind: subjectKindOf(path),
    },
    check: (input) => ({
      id: input.id,
      query: parseWith(query, input.query),
      body: parseWith(body, input.body),
      wantsCsv: input.wantsCsv,
      get idempotencyKey(): string | null {
        if (!isRepeatable) throw new Error(`${method} ${path} reads an Idempotency-Key that it does not document`);
        return input.idempotencyKey;
      },
    }),
    async run(input, context) {
      // `check` has validated the input.
      const checked = input as ManagementInput<z.infer<QuerySchema>, z.infer<BodySchema>>;
      return ((await run(checked, context)) ?? null) as object | null;
    },
  };
}

/** The resource of the `:id`, or the first segment: `account` for `/accounts/:id/keys`. */
function subjectKindOf(path: string): string {
  const parts = path.split('/').slice(1);
  const plural = parts[Math.max(parts.indexOf(':id') - 1, 0)];
  return plural!.replace(/ies$/, 'y').replace(/s$/, '');
}

function parseWith<Schema extends z.ZodType>(schema: Schema | undefined, value: unknown): z.infer<Schema> {
  if (schema === undefined) return undefined as z.infer<Schema>;
  const result = schema.safeParse(value, { error: issueText });
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path;
  const param = quoted(path.map((part) => quoted(String(part))).join('.'));
  throw invalidRequest(param === '' ? issue.message : `${param}: ${issue.message}`, param === '' ? undefined : param);
}

/** The 404 of a resource that does not exist. */
export function notFound(what: string, id: string): GatewayError {
  return new GatewayError('pathUnknown', { message: `There is no ${what} ${id.slice(0, 100)}.` });
}

/** @throws GatewayError 404 if nothing was found */
export function orNotFound<Found>(found: Found | null, what: string, id: string): Found {
  if (found === null) throw notFound(what, id);
  return found;
}

/** A 409 response: the request conflicts with the state of the resource. */
export function conflict(message: string): GatewayError {
  return new GatewayError('conflict', { message });
}

/** A 422 response: the request is well-formed but cannot be carried out. */
export function unprocessable(message: string, param?: string): GatewayError {
  return new GatewayError('unprocessable', param === undefined ? { message } : { message, param });
}
