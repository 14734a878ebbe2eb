import { IDEMPOTENCY_KEY_PATTERN } from '../../http/idempotency-key.ts';

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly [member: string]: unknown;
}

export interface PlacedOperation {
  readonly method: string;
  /** Path with `:id`, as in the tables of endpoints. */
  readonly path: string;
  readonly operation: Operation;
}

/** Converts `/accounts/:id` to `/accounts/{id}`. */
export function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

export function pathParameters(path: string, schema: object): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema }));
}

export function operationIdOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words.map((word) => word[0]!.toUpperCase() + word.slice(1))].join('');
}

export function queryParameters({ properties = {}, required = [] }: { readonly [member: string]: unknown }): object[] {
  return Object.entries(properties as Record<string, { description?: string }>).map(([name, schema]) => ({
    name,
    in: 'query',
    required: (required as readonly string[]).includes(name),
    ...(schema.description === undefined ? {} : { description: schema.description }),
    schema,
  }));
}

export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'A request with an Idempotency-Key is carried out once, however often it is sent.',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN.source, examples: ['01JD7A6K3V'] },
} as const;
