/**
 * The members that are not what they were: what a form sends, so that what others have changed while it was open stays. Members are
 * compared as JSON.
 */
export function changedMembers<Members extends object>(before: Members, after: Members): Partial<Members> {
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Members]),
  );
  return Object.fromEntries(changed) as Partial<Members>;
}

/** What changes a thing, by its id; `null` if nothing of it has changed. */
export function changeById<Body extends object>(id: string, body: Body) {
  return Object.keys(body).length === 0 ? null : { path: { id }, body };
}
