import { parse } from 'yaml';

/** The text of a catalog as plain values. Scalars are text as written, so that no price is rounded. */
export type Fields = { readonly [name: string]: unknown };

export interface CatalogValue {
  readonly providers: { readonly [name: string]: Fields };
  readonly models: { readonly [name: string]: Fields };
  readonly plans: { readonly [name: string]: Fields };
  readonly groups: { readonly [name: string]: Fields };
  readonly billing: Fields;
}

export function readCatalogText(text: string): CatalogValue {
  const sections = parsed(text, 'failsafe');
  const named = (name: string) =>
    Object.fromEntries(Object.entries(fieldsOf(sections[name])).map(([key, value]) => [key, fieldsOf(value)]));
  return {
    providers: named('providers'),
    models: named('models'),
    plans: named('plans'),
    groups: named('groups'),
    billing: fieldsOf(sections.billing),
  };
}

/** An entry with numbers and switches as in the file, for a copy of it. */
export function entryOf(text: string, section: keyof CatalogValue, name: string): Fields {
  return fieldsOf(fieldsOf(parsed(text, 'core')[section])[name]);
}

function parsed(text: string, schema: 'failsafe' | 'core'): Fields {
  return fieldsOf(parse(text, { schema, uniqueKeys: false, logLevel: 'silent' }));
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

export function textsOf(value: unknown): string[] {
  return listOf(value).map(textOf);
}
