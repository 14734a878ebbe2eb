import { z } from 'zod';
import { errorCatalogue } from '../../errors/catalogue.ts';
import type { Envelope } from '../../errors/envelopes.ts';
import type { SchemaCollection } from './json-schema.ts';

const code = z.string().meta({ description: 'The error code, for programs. See `docs/errors.md`.' });
const message = z.string().meta({ description: 'The error message, for people.' });
const param = z.string().nullable().meta({ description: 'The invalid field of the request.' });
const details = z
  .array(z.string())
  .optional()
  .meta({ description: 'What the message is about, one line each, such as the problems of a text.' });

const envelopes: Readonly<Record<Envelope['name'], z.ZodType>> = {
  admin: z.strictObject({ error: z.strictObject({ code, message, param, details }) }).meta({ id: 'Error' }),
  chat: z
    .looseObject({
      error: z.looseObject({
        message,
        type: z.string().nullish(),
        param: param.optional(),
        code: z.union([z.string(), z.number(), z.null()]).optional(),
      }),
    })
    .meta({ id: 'ChatError' }),
  messages: z
    .looseObject({
      type: z.literal('error'),
      error: z.looseObject({ type: z.string(), message }),
      request_id: z.string().nullish(),
    })
    .meta({ id: 'MessagesError' }),
  usage: z.strictObject({ error: z.strictObject({ code, message, type: z.string() }) }).meta({ id: 'UsageError' }),
  cohere: z.looseObject({ id: z.string().optional(), message: z.string() }).meta({ id: 'CohereError' }),
  catalog: z
    .strictObject({ code, message, success: z.literal(false), timestamp: z.iso.datetime() })
    .meta({ id: 'CatalogError' }),
};

const ANYWHERE = [408, 431, 500, 503] as const;

const WORDS: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  401: 'The credential is missing, malformed, revoked or unknown.',
  402: 'Neither the balance nor the plan covers the call.',
  403: 'The credential may not do this.',
  404: 'There is no such resource or model.',
  408: 'The request body stopped arriving, or arrived too slowly.',
  409: 'The request conflicts with the state of the resource, or another request used the same Idempotency-Key.',
  413: 'The body is too large.',
  415: 'The Content-Type is not supported.',
  422: 'The request is well-formed but cannot be carried out.',
  429: 'A limit is reached.',
  431: 'The headers are too large.',
  500: 'The gateway failed unexpectedly.',
  502: 'The provider could not be reached, or gave a response that cannot be read.',
  503: 'The node is shutting down or overloaded, or the model has no route.',
  504: 'The provider did not respond in time.',
  529: 'The node is overloaded.',
};

export function callStatuses(envelope: Envelope): number[] {
  const statuses = Object.values(errorCatalogue).map((row) =>
    envelope.name === 'messages' && 'messagesStatus' in row ? row.messagesStatus : row.status,
  );
  // 405 and 426 are about methods and upgrades rather than calls.
  return [...new Set<number>([...statuses, 402])].filter((status) => status !== 405 && status !== 426);
}

/** Creates components of the document for error responses. */
export class ErrorResponses {
  readonly #schemas: SchemaCollection;
  readonly #kept = new Map<string, object>();

  constructor(schemas: SchemaCollection) {
    this.#schemas = schemas;
  }

  get kept(): { readonly [id: string]: object } {
    return Object.fromEntries(this.#kept);
  }

  /** Returns responses for statuses, and for those that every address can return. */
  of(statuses: readonly number[], envelope: Envelope): { readonly [status: string]: object } {
    const all = [...new Set([...statuses, ...ANYWHERE])].sort((left, right) => left - right);
    return Object.fromEntries(all.map((status) => [status, this.#refer(String(status), WORDS[status]!, envelope)]));
  }

  /** Returns a response with the status that the provider has sent. */
  ofProvider(envelope: Envelope): { readonly [status: string]: object } {
    const words = "The provider rejected the call. The status is the provider's.";
    return { '4XX': this.#refer('4XX', words, envelope), '5XX': this.#refer('5XX', words, envelope) };
  }

  #refer(status: string, description: string, { name }: Envelope): object {
    const id = `${name}_${status}`;
    if (!this.#kept.has(id)) {
      const schema = this.#schemas.schemaOf(envelopes[name], 'output');
      this.#kept.set(id, { description, content: { 'application/json': { schema } } });
    }
    return { $ref: `#/components/responses/${id}` };
  }
}
