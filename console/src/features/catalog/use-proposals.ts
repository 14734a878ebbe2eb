import { useRead } from '../../api/queries.ts';
import { type Proposals, proposalsAt } from './completions.ts';

/** Proposals for the text of the catalog. Without the schema there are none. */
export function useProposals(isWanted: boolean): (text: string, offset: number) => Proposals | null {
  const schema = useRead('GET /admin/v1/catalog/schema', {}, { isWanted }).data;
  const secrets = useRead('GET /admin/v1/secrets', {}, { isWanted }).data?.data ?? [];
  const presets = useRead('GET /admin/v1/provider-presets', {}, { isWanted }).data?.data ?? [];
  return (text, offset) => {
    if (schema === undefined) return null;
    const names = { secrets: secrets.map(({ name }) => name), presets };
    return proposalsAt(text, offset, schema, names);
  };
}
