import { useRead } from '../api/queries.ts';

/** The ids of all models that have routes, to choose from. */
export function useModelNames(isWanted: boolean): readonly string[] {
  const routes = useRead('GET /admin/v1/routes', {}, { isWanted }).data?.data ?? [];
  return [...new Set(routes.map(({ model }) => model))].sort();
}
