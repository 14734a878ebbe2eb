/** The value at a field path, such as `modelLimits.demo-chat.requestsPerMinute`, before and after a change. */
export interface FieldChange {
  readonly field: string;
  /** `undefined` if the field was absent. */
  readonly before: unknown;
  readonly after: unknown;
}

type Subject = { readonly [name: string]: unknown } | null;

/** Flattened fields of a subject before and after a change, in their original order. */
export function fieldsOf(before: Subject, after: Subject): FieldChange[] {
  const old = flat(before);
  const next = flat(after);
  return [...new Set([...old.keys(), ...next.keys()])].map((field) => ({
    field,
    before: old.get(field),
    after: next.get(field),
  }));
}

/**
 * Fields that both subjects have, except `id`: a change may pair different things, such as a call and its refund, or a key and its
 * replacement.
 */
export function sharedFieldsOf(before: Subject, after: Subject): FieldChange[] {
  if (before === null || after === null) return [];
  const of = (subject: NonNullable<Subject>, other: NonNullable<Subject>): Subject =>
    Object.fromEntries(Object.entries(subject).filter(([name]) => name in other && name !== 'id'));
  return fieldsOf(of(before, after), of(after, before));
}

export function isAltered({ before, after }: FieldChange): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

function flat(subject: Subject): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const walk = (value: unknown, path: string): void => {
    if (isObject(value) && Object.keys(value).length > 0) {
      for (const [name, member] of Object.entries(value)) walk(member, path === '' ? name : `${path}.${name}`);
    } else if (path !== '') fields.set(path, value);
  };
  walk(subject, '');
  return fields;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
