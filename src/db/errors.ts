/** What errors of the database mean; the same for both engines. */

/** SQLSTATE of a database error, or `undefined` where the error did not come from a statement. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;
}

/** True where the data of a statement was at fault (class 22: bad value, class 23: constraint), not the connection. */
export function isDataError(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'));
}
