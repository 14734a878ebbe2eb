/** The changed members, compared as JSON. Forms send only these, so that concurrent changes of others are kept. */
export function changedMembers<Members extends object>(before: Members, after: Members): Partial<Members> {
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Members]),
  );
  return Object.fromEntries(changed) as Partial<Members>;
}

/** The input of a change by id; `null` if the body is empty. */
export function changeById<Body extends object>(id: string, body: Body) {
  return Object.keys(body).length === 0 ? null : { path: { id }, body };
}
