import { useRead } from '../api/queries.ts';

/** The ids of all models that have routes, to choose from. */
export function useModelNames(isWanted: boolean): readonly string[] {
  const routes = useRead('GET /admin/v1/routes', {}, { isWanted }).data?.data ?? [];
  return [...new Set(routes.map(({ model }) => model))].sort();
}

/** The ids of the models that the own account may call, to choose from. */
export function useOwnModelNames(): readonly string[] {
  return (useRead('GET /account/v1/models', {}).data?.data ?? []).map(({ id }) => id);
}
