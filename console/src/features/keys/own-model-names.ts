import { useRead } from '../../api/queries.ts';

/** The ids of the models that the account may call, to choose from. */
export function useOwnModelNames(): readonly string[] {
  return (useRead('GET /account/v1/models', {}).data?.data ?? []).map(({ id }) => id);
}
