import { isRecord } from '../lib/json/json.ts';
import type { Path } from './document.ts';

/** Reads values of a configuration that the schema has not validated. What has another form is absent. */

export interface RuleBreach {
  readonly path: Path;
  readonly message: string;
}

export function field(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Returns a member of an object or a list. */
export function member(value: unknown, key: PropertyKey): unknown {
  return Array.isArray(value) && typeof key === 'number' ? value[key] : field(value, String(key));
}

export function entries(value: unknown, key: string): [string, unknown][] {
  const section = field(value, key);
  return isRecord(section) ? Object.entries(section) : [];
}

export function items(value: unknown, key: string): [unknown, number][] {
  const list = field(value, key);
  return Array.isArray(list) ? list.map((item: unknown, index) => [item, index]) : [];
}

export function texts(value: unknown, key: string): string[] {
  return items(value, key).map(([item]) => String(item));
}

export function names(entries: readonly (readonly [string, unknown])[]): string[] {
  return entries.map(([name]) => name);
}
