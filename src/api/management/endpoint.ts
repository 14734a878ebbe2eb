import type { z } from 'zod';
import { GatewayError, invalidRequest, quoted } from '../../errors/gateway-error.ts';
import { issueText } from './issue-text.ts';

/** What an endpoint of the admin API or the account API gets of its request, checked against its schemas. */
export interface ManagementInput<Query, Body> {
  /** The `:id` of the path; empty if the path has none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  readonly idempotencyKey: string | null;
  /** Whether the client asks for CSV. */
  readonly wantsCsv: boolean;
}

/** A body that is sent line by line, as it is made. */
export class LineStream {
  /** Each is worth a turn of its own: some lines, not one. */
  readonly chunks: AsyncIterable<string>;
  readonly contentType: string;
  /** The JSON response in whose place it is sent, if that is made already; the change log has it. */
  readonly inPlaceOf: object | null;

  constructor(chunks: AsyncIterable<string>, contentType = 'application/x-ndjson', inPlaceOf: object | null = null) {
    this.chunks = chunks;
    this.contentType = contentType;
    this.inPlaceOf = inPlaceOf;
  }

  /** What is made already. */
  static of(text: string, contentType: string, inPlaceOf: object | null = null): LineStream {
    return new LineStream(once(text), contentType, inPlaceOf);
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** The response to the repeat of a request that was carried out before: nothing was changed, so the change log has no row of it. */
export class Repeat<Response extends object> {
  readonly response: Response;

  constructor(response: Response) {
    this.response = response;
  }

  /** The response as it is, or as that to a repeat. */
  static if<Response extends object>(isRepeat: boolean, response: Response): Response | Repeat<Response> {
    return isRepeat ? new Repeat(response) : response;
  }
}

/** What an address sends line by line, in place of its JSON response. */
interface LinesResponse {
  readonly mediaType: 'text/csv' | 'application/x-ndjson';
  /** When it does, and what the lines are. */
  readonly description: string;
}

/** What `run` returns at an address with this schema of responses. */
type ResponseOf<ResponseSchema extends z.ZodType | null> = ResponseSchema extends z.ZodType
  ? Promise<z.infer<ResponseSchema> | Repeat<z.infer<ResponseSchema> & object> | LineStream>
  : Promise<void> | Promise<LineStream>;

/**
 * One address. `run` returns the body of the response, or `null` for 204.
 *
 * `Need`: who may use it; `Context`: who does, and what of.
 */
export interface ManagementEndpoint<Need, Context> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path behind the prefix, with `:id` if it names a resource. */
  readonly path: string;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  readonly needs: Need;
  /** Whether it may change something: then it is logged, and remembered refusals are forgotten. */
  readonly isChange: boolean;
  readonly querySchema: z.ZodType | null;
  readonly bodySchema: z.ZodType | null;
  /** What a JSON response looks like; `null` if there is none. */
  readonly responseSchema: z.ZodType | null;
  readonly lines: LinesResponse | null;
  /** Whether a request with an `Idempotency-Key` may be repeated without being carried out twice. */
  readonly isRepeatable: boolean;
  readonly subject: ChangeSubject<unknown, unknown, Context>;
  /**
   * Checks a request by the schemas. `run` takes what it returns.
   *
   * @throws GatewayError `invalidRequest`
   */
  readonly check: (input: ManagementInput<unknown, unknown>) => ManagementInput<unknown, unknown>;
  readonly run: (input: ManagementInput<unknown, unknown>, context: Context) => Promise<object | null>;
}

/** What an address changes, for the change log. By default its path says so. */
export interface ChangeSubject<Query = unknown, Body = unknown, Context = unknown> {
  /** Such as `account`. */
  readonly kind: string;
  /** The `:id` of the path names the account in which the subject is made. */
  readonly isMadeInAccount?: true;
  /** The response shows the subject as it was before it was removed. */
  readonly isResponseBefore?: true;
  /** What the change does to the subject does not show in it: a change that shows none is one all the same. */
  readonly showsNoDifference?: true;
  /** The id of what is changed, if it is not the `:id` of the path; `null`: it has none yet. */
  named?(input: ManagementInput<Query, Body>, context: Context): string | null;
  /** What a response is about, if it is not its `id`. */
  responded?(response: object): string | null;
  /** What the request says of the change and nothing shows that is read of the subject, such as a memo. */
  noted?(input: ManagementInput<Query, Body>): object | null;
  /** What is changed, as responses show it; `null`, or a 404, if there is none. */
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
  /** By default 200, or 204 where nothing is responded. */
  readonly status?: 201;
  readonly summary: string;
  readonly needs: Need;
  /** For what changes nothing although its method is not GET. What has effects is never a GET, which a page of another site can cause. */
  readonly isChange?: false;
  /** Whether `run` reads the `Idempotency-Key`; it cannot if this is absent. */
  readonly isRepeatable?: true;
  readonly query?: QuerySchema;
  readonly body?: BodySchema;
  /** What its JSON response looks like: documented, and checked in tests. Absent: there is none, or lines only. */
  readonly response?: ResponseSchema;
  readonly lines?: LinesResponse;
  readonly subject?: ChangeSubject<z.infer<QuerySchema>, z.infer<BodySchema>, Context>;
  readonly run: (
    input: ManagementInput<z.infer<QuerySchema>, z.infer<BodySchema>>,
    context: Context,
  ) => ResponseOf<ResponseSchema>;
}

/** Whether an address may change something: no GET does, and anything else, if it does not say otherwise. */
export const isChangeBy = ({
  method,
  isChange,
}: {
  readonly method: ManagementEndpoint<never, never>['method'];
  readonly isChange?: false;
}): boolean => method !== 'GET' && isChange !== false;

/** Makes an endpoint whose `run` sees the types of its schemas. */
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
    // `check` has made the input of the schemas.
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
      // `check` has made it of the schemas.
      const checked = input as ManagementInput<z.infer<QuerySchema>, z.infer<BodySchema>>;
      return ((await run(checked, context)) ?? null) as object | null;
    },
  };
}

/** What the `:id` of a path names, else what stands first in it: `account` for `/accounts/:id/keys`. */
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

/** What was found. @throws GatewayError 404 if nothing was. */
export function orNotFound<Found>(found: Found | null, what: string, id: string): Found {
  if (found === null) throw notFound(what, id);
  return found;
}

/** What is asked for does not go with what is there. */
export function conflict(message: string): GatewayError {
  return new GatewayError('conflict', { message });
}

/** What is asked for is well formed, and cannot be done. */
export function unprocessable(message: string, param?: string): GatewayError {
  return new GatewayError('unprocessable', param === undefined ? { message } : { message, param });
}
