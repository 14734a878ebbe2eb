import { useRead } from '../api/queries.ts';

export function useModelNames(isWanted: boolean): readonly string[] {
  const routes = useRead('GET /admin/v1/routes', {}, { isWanted }).data?.data ?? [];
  return [...new Set(routes.map(({ model }) => model))].sort();
}

/** Ids of the models that the account may call. */
export function useOwnModelNames(): readonly string[] {
  return (useRead('GET /account/v1/models', {}).data?.data ?? []).map(({ id }) => id);
}
