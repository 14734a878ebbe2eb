import { z } from 'zod';
import { isRecord } from '../lib/json/json.ts';

/** A value within another one, with its schema. */
export interface Member {
  readonly key: string | number;
  readonly schema: z.core.$ZodType;
  /** The value; `undefined` if the key is absent. */
  readonly value: unknown;
}

/** Returns the schema of a value that is present. */
export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrapped(schema.unwrap())
    : schema;
}

/** Returns the keys of a section, the entries of a record or the items of a list; none for other values. */
export function membersOf(schema: z.core.$ZodType, value: unknown): Member[] {
  const field = unwrapped(schema);
  const given = isRecord(value) ? value : {};
  if (field instanceof z.ZodObject) {
    return Object.entries(field.shape).map(([key, member]) => ({
      key,
      schema: member as z.core.$ZodType,
      value: given[key],
    }));
  }
  if (field instanceof z.ZodRecord) {
    return Object.entries(given).map(([key, member]) => ({ key, schema: field.valueType, value: member }));
  }
  if (field instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item, key) => ({ key, schema: field.element, value: item }));
  }
  return [];
}
