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
  /** The body in chunks. Each chunk takes one turn in the queue of its caller, so it should contain several lines. */
  readonly chunks: AsyncIterable<string>;
  readonly contentType: string;
  /** The JSON response in whose place this stream is sent. The audit log uses it; `null` if there is none. */
  readonly inPlaceOf: object | null;

  constructor(chunks: AsyncIterable<string>, contentType = 'application/x-ndjson', inPlaceOf: object | null = null) {
    this.chunks = chunks;
    this.contentType = contentType;
    this.inPlaceOf = inPlaceOf;
  }

  /** Creates a stream from a text that is already complete. */
  static of(text: string, contentType: string, inPlaceOf: object | null = null): LineStream {
    return new LineStream(once(text), contentType, inPlaceOf);
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** The stored response to a repeated request. The request changes nothing, so the audit log has no entry for it. */
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
  /** In which case the endpoint streams, and what the lines contain. */
  readonly description: string;
}

/** The type that `run` must return for a response schema. */
type ResponseOf<ResponseSchema extends z.ZodType | null> = ResponseSchema extends z.ZodType
  ? Promise<z.infer<ResponseSchema> | Repeat<z.infer<ResponseSchema> & object> | LineStream>
  : Promise<void> | Promise<LineStream>;

/**
 * An endpoint of the admin API or the account API. `run` returns the body of the response, or `null` for 204.
 *
 * `Need`: the type of the required permission; `Context`: the type of the caller with the scope of the request.
 */
export interface ManagementEndpoint<Need, Context> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path after the prefix of the API. It contains `:id` if it names a resource. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  readonly needs: Need;
  /** Whether the endpoint can change something. Its requests are recorded in the audit log, and make the gateway forget remembered refusals. */
  readonly isChange: boolean;
  readonly querySchema: z.ZodType | null;
  readonly bodySchema: z.ZodType | null;
  /** The schema of the JSON response; `null` if there is none. */
  readonly responseSchema: z.ZodType | null;
  readonly lines: LinesResponse | null;
  /** Whether requests with an `Idempotency-Key` can be repeated safely. */
  readonly isRepeatable: boolean;
  readonly subject: ChangeSubject<unknown, unknown, Context>;
  /**
   * Validates a request and returns the input for `run`.
   *
   * @throws GatewayError `invalidRequest`
   */
  readonly check: (input: ManagementInput<unknown, unknown>) => ManagementInput<unknown, unknown>;
  readonly run: (input: ManagementInput<unknown, unknown>, context: Context) => Promise<object | null>;
}

/** What an endpoint changes, as the audit log records it. By default, this is derived from the path. */
export interface ChangeSubject<Query = unknown, Body = unknown, Context = unknown> {
  /** The kind of the subject, such as `account`. */
  readonly kind: string;
  /** Whether the endpoint creates the subject in an account. The `:id` of the path is then the id of the account. */
  readonly isMadeInAccount?: true;
  /** Whether the endpoint removes the subject and its response shows the subject as it was before. */
  readonly isResponseBefore?: true;
  /** Whether the subject can look the same before and after a change. */
  readonly showsNoDifference?: true;
  /** Returns the id of the subject; `null` if it has no id yet. Absent: the `:id` of the path. */
  named?(input: ManagementInput<Query, Body>, context: Context): string | null;
  /** Returns the id of the subject from a response. Absent: the member `id`. */
  responded?(response: object): string | null;
  /** Returns what the audit log records of a response. Absent: the whole response. */
  recorded?(response: object): object;
  /** Returns details of the request that the subject does not show, such as a memo. */
  noted?(input: ManagementInput<Query, Body>): object | null;
  /** Returns the subject in the form of responses. If the subject does not exist, it returns `null` or throws a 404. */
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
  /** The status of a success. By default: 200, or 204 if the response has no body. */
  readonly status?: 201;
  readonly summary: string;
  readonly needs: Need;
  /**
   * Set for an endpoint that only reads, with a method other than GET. A change never uses GET, because pages of other sites can send GET requests.
   */
  readonly isChange?: false;
  /** Whether `run` reads the `Idempotency-Key`. It must not read the key unless this is set. */
  readonly isRepeatable?: true;
  readonly query?: QuerySchema;
  readonly body?: BodySchema;
  /** The schema of the JSON response, which is documented and checked in tests. Absent: there is no response body, or it consists of lines. */
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
    // The input was validated by `check`.
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
      // The input was validated by `check`.
      const checked = input as ManagementInput<z.infer<QuerySchema>, z.infer<BodySchema>>;
      return ((await run(checked, context)) ?? null) as object | null;
    },
  };
}

/** Returns the kind of the resource that `:id` names, or the kind of the first segment: `account` for `/accounts/:id/keys`. */
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

/** Creates the 404 error for a resource that does not exist. */
export function notFound(what: string, id: string): GatewayError {
  return new GatewayError('pathUnknown', { message: `There is no ${what} ${id.slice(0, 100)}.` });
}

/** @throws GatewayError 404 if nothing was found */
export function orNotFound<Found>(found: Found | null, what: string, id: string): Found {
  if (found === null) throw notFound(what, id);
  return found;
}

/** Creates a 409 error: the request conflicts with the state of the resource. */
export function conflict(message: string): GatewayError {
  return new GatewayError('conflict', { message });
}

/** Creates a 422 error: the request is well-formed but cannot be carried out. */
export function unprocessable(message: string, param?: string): GatewayError {
  return new GatewayError('unprocessable', param === undefined ? { message } : { message, param });
}
