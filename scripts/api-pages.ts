import type { ApiDocument, Body, Operation, Schema } from './endpoint-types.ts';
import { markdownTable } from './markdown.ts';

/** The reference pages of the APIs, from /openapi.json. */

const PAGES = [
  ['admin', 'The admin API', '/admin/v1/'],
  ['account', 'The account API, address by address', '/account/v1/'],
  ['public', 'The public API, address by address', '/'],
] as const;

/** The texts of the pages, by file name without extension. */
export function apiPages(document: ApiDocument): Readonly<Record<string, string>> {
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

function sectionOf(document: ApiDocument, address: string, operation: Operation): string {
  const { summary, description, security, parameters = [], requestBody, responses } = operation;
  const who =
    security === undefined
      ? ''
      : ` Credential: ${security.flatMap((each) => Object.keys(each)).join(' or ') || 'none'}.`;
  const refused = Object.entries(responses).filter(([status]) => !status.startsWith('2'));
  return [
    `## \`${address}\`\n`,
    `${escaped(description === undefined ? summary : `${summary}. ${description}`)}${who}\n`,
    ...tableOf(
      ['parameter', 'in', 'type', ''],
      parameters.map((each) => [
        code(each.name),
        each.in,
        typeOf(each.schema),
        `${each.required ? 'Required. ' : ''}${each.description ?? ''}`,
      ]),
    ),
    ...bodyOf(document, 'body', requestBody),
    ...Object.entries(responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([status, body]) => bodyOf(document, status, body)),
    `Errors: ${refused.map(([status, body]) => `${status} ${escaped(resolved(document, body).description ?? '')}`).join(' · ')}\n`,
  ].join('\n');
}

function bodyOf(document: ApiDocument, what: string, body: Body | undefined): string[] {
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

function resolved({ components }: ApiDocument, body: Body): Body {
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
  const cells = rows.map((row) => row.map(escaped));
  return [markdownTable(heads, cells), ''];
}

const nameOf = (reference: string): string => reference.split('/').at(-1)!;
const code = (name: string): string => `\`${name}\``;

/** Escapes table cells, tags, and expressions of the site generator. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;').replaceAll('\n', ' ');
}
