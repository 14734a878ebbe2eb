import type { z } from 'zod';
import { GatewayError, invalidRequest, quoted } from '../../errors/gateway-error.ts';
import { issueText } from './issue-text.ts';

export interface ManagementInput<Query, Body> {
  /** The `:id` in the path; empty if it has none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  readonly idempotencyKey: string | null;
  readonly wantsCsv: boolean;
}

export class LineStream {
  /** Chunks of the response. Each one takes a slot in the queue of its caller, so it should have several lines. */
  readonly chunks: AsyncIterable<string>;
  readonly contentType: string;
  /** The JSON response that this stream replaces, for the audit log. */
  readonly inPlaceOf: object | null;

  constructor(chunks: AsyncIterable<string>, contentType = 'application/x-ndjson', inPlaceOf: object | null = null) {
    this.chunks = chunks;
    this.contentType = contentType;
    this.inPlaceOf = inPlaceOf;
  }

  static of(text: string, contentType: string, inPlaceOf: object | null = null): LineStream {
    return new LineStream(once(text), contentType, inPlaceOf);
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** A response to a repeated request, which the audit log does not record. */
export class Repeat<Response extends object> {
  readonly response: Response;

  constructor(response: Response) {
    this.response = response;
  }

  static if<Response extends object>(isRepeat: boolean, response: Response): Response | Repeat<Response> {
    return isRepeat ? new Repeat(response) : response;
  }
}

interface LinesResponse {
  readonly mediaType: 'text/csv' | 'application/x-ndjson';
  /** When the endpoint streams, and what its lines contain. */
  readonly description: string;
}

type ResponseOf<ResponseSchema extends z.ZodType | null> = ResponseSchema extends z.ZodType
  ? Promise<z.infer<ResponseSchema> | Repeat<z.infer<ResponseSchema> & object> | LineStream>
  : Promise<void> | Promise<LineStream>;

/** An endpoint of the management APIs. `Need`: the required permission. `Context`: the caller and the scope of the request. */
export interface ManagementEndpoint<Need, Context> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path without the prefix of the API. It contains `:id` if it names a resource. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  readonly needs: Need;
  /** Whether the endpoint changes something. Changes are recorded in the audit log, and clear the cache of remembered refusals. */
  readonly isChange: boolean;
  readonly querySchema: z.ZodType | null;
  readonly bodySchema: z.ZodType | null;
  readonly responseSchema: z.ZodType | null;
  readonly lines: LinesResponse | null;
  /** Whether the endpoint supports `Idempotency-Key`. */
  readonly isRepeatable: boolean;
  readonly subject: ChangeSubject<unknown, unknown, Context>;
  /** Checks and converts the input. @throws GatewayError `invalidRequest` */
  readonly check: (input: ManagementInput<unknown, unknown>) => ManagementInput<unknown, unknown>;
  readonly run: (input: ManagementInput<unknown, unknown>, context: Context) => Promise<object | null>;
}

/** What the audit log records as the subject of a change. Default: derived from the path. */
export interface ChangeSubject<Query = unknown, Body = unknown, Context = unknown> {
  readonly kind: string;
  /** Present if the endpoint creates the subject in an account. The `:id` of the path is then that of the account. */
  readonly isMadeInAccount?: true;
  /** Present if the endpoint removes the subject, and its response shows the subject as it was before. */
  readonly isResponseBefore?: true;
  /** Present if a change may leave everything that is shown of the subject as it was. */
  readonly showsNoDifference?: true;
  /** Returns the id of the subject; `null`: it has none yet. Default: the `:id` of the path. */
  named?(input: ManagementInput<Query, Body>, context: Context): string | null;
  /** Returns the id of the subject from a response. Default: the member `id`. */
  responded?(response: object): string | null;
  /** Returns what the audit log records of a response. Default: all of it. */
  recorded?(response: object): object;
  /** Returns details of the request that the subject does not show, such as a memo. */
  noted?(input: ManagementInput<Query, Body>): object | null;
  /** Reads the subject, in the form of responses. If it does not exist, returns `null` or throws a 404. */
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
  /** Status of a success. Default: 200, or 204 without a response body. */
  readonly status?: 201;
  readonly summary: string;
  readonly needs: Need;
  /**
   * Present if the endpoint only reads, although its method is not GET. Changes never use GET, because pages of other sites can send GET
   * requests.
   */
  readonly isChange?: false;
  /** Present if the endpoint supports `Idempotency-Key`. Otherwise `run` must not read this header. */
  readonly isRepeatable?: true;
  readonly query?: QuerySchema;
  readonly body?: BodySchema;
  /** Schema of the response, for the documentation and for checks in tests. Absent: the response has no body, or consists of lines. */
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

/** Creates an endpoint. The types of `run` follow from the schemas. */
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
    // The cast is safe, because `check` validates the input.
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
      const checked = input as ManagementInput<z.infer<QuerySchema>, z.infer<BodySchema>>;
      return ((await run(checked, context)) ?? null) as object | null;
    },
  };
}

/** Returns the kind of resource in a path: of `/accounts/:id/keys` it is `account`, the segment before `:id`, or else the first one. */
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

export function notFound(what: string, id: string): GatewayError {
  return new GatewayError('pathUnknown', { message: `There is no ${what} ${id.slice(0, 100)}.` });
}

/** Returns what was found. @throws GatewayError 404 if it is `null` */
export function orNotFound<Found>(found: Found | null, what: string, id: string): Found {
  if (found === null) throw notFound(what, id);
  return found;
}

export function conflict(message: string): GatewayError {
  return new GatewayError('conflict', { message });
}

export function unprocessable(message: string, param?: string): GatewayError {
  return new GatewayError('unprocessable', param === undefined ? { message } : { message, param });
}
