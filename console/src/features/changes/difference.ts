/** A value that stands at a path of a subject, such as `modelLimits.demo-chat.requestsPerMinute`. */
export interface FieldChange {
  readonly field: string;
  /** `undefined`: the field was not there. */
  readonly before: unknown;
  readonly after: unknown;
}

type Subject = { readonly [name: string]: unknown } | null;

/** The fields of a subject before and after a change, in the order in which they stand there; members of members by their path. */
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
 * The fields of what stands on both sides of a change: of a call and its refund, what both have. That one is another thing than the
 * other, as a key and its replacement, differs by no field that says so.
 */
export function sharedFieldsOf(before: Subject, after: Subject): FieldChange[] {
  if (before === null || after === null) return [];
  const of = (subject: NonNullable<Subject>, other: NonNullable<Subject>): Subject =>
    Object.fromEntries(Object.entries(subject).filter(([name]) => name in other && name !== 'id'));
  return fieldsOf(of(before, after), of(after, before));
}

/** Whether a change has altered the field. What was only read before or after, such as a new subject, has altered all it has. */
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
