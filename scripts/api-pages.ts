/** The pages of the site that list what each API serves, from the document at /openapi.json. */

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Body {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    schema?: Schema;
  }[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
}

export interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Body>>;
  };
}

const PAGES = [
  ['admin', 'The admin API', '/admin/v1/'],
  ['account', 'The account API, address by address', '/account/v1/'],
  ['public', 'The public API, address by address', '/'],
] as const;

/** The texts of the pages, by their names without what follows the point. */
export function apiPages(document: ApiDescription): Readonly<Record<string, string>> {
  const rest = new Map(Object.entries(document.paths));
  return Object.fromEntries(
    PAGES.map(([name, title, prefix]) => {
      const own = [...rest].filter(([path]) => path.startsWith(prefix));
      for (const [path] of own) rest.delete(path);
      const operations = own.flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) =>
          sectionOf(document, `${method.toUpperCase()} ${path}`, operation),
        ),
      );
      return [name, `# ${title}\n\n${operations.join('\n')}`];
    }),
  );
}

function sectionOf(document: ApiDescription, address: string, operation: Operation): string {
  const { summary, description, security, parameters = [], requestBody, responses } = operation;
  const who =
    security === undefined
      ? ''
      : ` Credential: ${security.flatMap((each) => Object.keys(each)).join(' or ') || 'none'}.`;
  const refused = Object.entries(responses).filter(([status]) => !status.startsWith('2'));
  return [
    `## \`${address}\`\n`,
    `${escaped([summary, description].filter((text) => text !== undefined).join('. '))}${who}\n`,
    ...tableOf(
      ['parameter', 'in', 'type', ''],
      parameters.map((each) => [
        code(each.name),
        each.in,
        typeOf(each.schema),
        `${each.required === true ? 'Required. ' : ''}${each.description ?? ''}`,
      ]),
    ),
    ...bodyOf(document, 'body', requestBody),
    ...Object.entries(responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([status, body]) => bodyOf(document, status, body)),
    `Errors: ${refused.map(([status, body]) => `${status} ${escaped(resolved(document, body).description ?? '')}`).join(' · ')}\n`,
  ].join('\n');
}

function bodyOf(document: ApiDescription, what: string, body: Body | undefined): string[] {
  if (body === undefined) return [];
  const types = Object.entries(resolved(document, body).content ?? {});
  if (types.length === 0) return [`**${what}**: ${escaped(body.description ?? 'nothing')}\n`];
  return types.flatMap(([type, { schema }]) => {
    const found = schema?.$ref === undefined ? schema : document.components.schemas[nameOf(schema.$ref)];
    const fields = Object.entries(found?.properties ?? {}).map(([name, field]) => [
      code(name),
      typeOf(field),
      `${found?.required?.includes(name) === true ? 'Required. ' : ''}${field.description ?? ''}`,
    ]);
    return [`**${what}**, \`${type}\`: ${escaped(typeOf(schema))}\n`, ...tableOf(['field', 'type', ''], fields)];
  });
}

function resolved({ components }: ApiDescription, body: Body): Body {
  return body.$ref === undefined ? body : (components.responses[nameOf(body.$ref)] ?? body);
}

function typeOf(schema: Schema | undefined): string {
  if (schema === undefined) return '';
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(', ');
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) return [...new Set(forms.map(typeOf))].join(' or ');
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  return typeof schema.type === 'string' ? schema.type : (schema.type ?? ['anything']).join(' or ');
}

function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---|').join('')}`, ...rows.map((row) => line(row.map(escaped))), ''];
}

const nameOf = (reference: string): string => reference.split('/').at(-1)!;
const code = (name: string): string => `\`${name}\``;

/** In a cell, and where the generator would read a tag or an expression. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;').replaceAll('\n', ' ');
}
