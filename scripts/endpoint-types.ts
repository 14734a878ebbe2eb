/**
 * Generates TypeScript for the management APIs from an OpenAPI document: a type for each named schema, and `Endpoints` with a member for
 * each address. Supports the parts of JSON Schema that the gateway's document uses, and throws for others.
 */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly { readonly [scheme: string]: unknown }[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Body;
  readonly responses: { readonly [status: string]: Body };
}

export interface Body {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: { readonly [mediaType: string]: { readonly schema: Schema } };
}

export interface ApiDocument {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: {
    readonly schemas: { readonly [name: string]: Schema };
    readonly responses: { readonly [name: string]: Body };
  };
}

/** Prefixes of the addresses that the console uses. */
const PREFIXES = ['/account/v1/', '/admin/v1/'];

export function endpointTypes({ paths, components }: ApiDocument): string {
  const operations = Object.entries(paths)
    .filter(([path]) => PREFIXES.some((prefix) => path.startsWith(prefix)))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    );
  const endpoints = operations.map(
    ({ name, operation }) => `  /** ${operation.summary}. */\n  '${name}': ${endpointType(operation)};`,
  );
  const body = `export interface Endpoints {\n${endpoints.join('\n')}\n}\n`;
  return `// Written by \`npm run console:types\` from /openapi.json. Do not change it by hand.\n\n${schemasUsedIn(body)}${body}`;

  /** The types of all schemas that a text uses, directly or indirectly. */
  function schemasUsedIn(text: string): string {
    const known = new Map<string, string>();
    const collect = (within: string): void => {
      for (const name of Object.keys(components.schemas)) {
        if (known.has(name) || !new RegExp(`\\b${name}\\b(?!\\??:|')`).test(within)) continue;
        known.set(name, '');
        const type = typeOf(components.schemas[name]!);
        known.set(name, type);
        collect(type);
      }
    };
    collect(text);
    return [...known]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, type]) => `export type ${name} = ${type};\n\n`)
      .join('');
  }
}

function endpointType({ parameters = [], requestBody, responses }: Operation): string {
  const placed = (place: string): string => {
    const found = parameters.filter((parameter) => parameter.in === place);
    return objectOf(found.map(({ name, required, schema }) => ({ name, isRequired: required, type: typeOf(schema) })));
  };
  const [, done] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const response = done?.content?.['application/json']?.schema;
  const body = requestBody?.content?.['application/json']?.schema;
  return `{
    path: ${placed('path')};
    query: ${placed('query')};
    body: ${body === undefined ? 'null' : typeOf(body)};
    response: ${response === undefined ? 'null' : typeOf(response)};
  }`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!;
  if (schema.anyOf !== undefined) return union(schema.anyOf.map(typeOf));
  if (schema.enum !== undefined) return union(schema.enum.map(literal));
  if ('const' in schema) return literal(schema.const);
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type })));
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return `readonly ${inParentheses(typeOf(schema.items ?? {}))}[]`;
    case 'object':
      return typeOfObject(schema);
    case undefined:
      return 'unknown';
    default:
      throw new Error(`unsupported schema type ${JSON.stringify(schema.type)}`);
  }
}

function typeOfObject({ properties, required = [], additionalProperties }: Schema): string {
  const others =
    typeof additionalProperties === 'object' ? `{ readonly [name: string]: ${typeOf(additionalProperties)} }` : null;
  if (properties === undefined) return others ?? '{ readonly [name: string]: unknown }';
  const named = objectOf(
    Object.entries(properties).map(([name, schema]) => ({
      name,
      isRequired: required.includes(name),
      type: typeOf(schema),
    })),
  );
  return others === null ? named : `${named} & ${others}`;
}

function objectOf(members: readonly { name: string; isRequired: boolean; type: string }[]): string {
  if (members.length === 0) return 'Record<never, never>';
  const lines = members.map(({ name, isRequired, type }) => {
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    // The console may pass `undefined` for an optional value.
    return isRequired ? `readonly ${key}: ${type}` : `readonly ${key}?: ${type} | undefined`;
  });
  return `{ ${lines.join('; ')} }`;
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

function inParentheses(type: string): string {
  return / [|&] /.test(type) ? `(${type})` : type;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value);
}
