import type { OwnCall, OwnCallInFlight } from '../../api/types.ts';
import { useCallColumns } from '../../parts/calls/call-columns.tsx';
import { callColumnTexts } from '../../parts/calls/column-texts.ts';
import { useKeyNames } from '../../parts/keys/own-key-names.ts';
import type { Column } from '../../parts/list-table.tsx';
import { useTexts } from '../../text/language.tsx';

export function useOwnCallColumns(): Column<OwnCall | OwnCallInFlight>[] {
  const text = useTexts(callColumnTexts);
  const keyNames = useKeyNames();
  return useCallColumns<OwnCall | OwnCallInFlight>({
    whose: { header: text.key, cell: ({ keyId, keyName }) => keyName ?? keyNames.get(keyId) ?? keyId },
    storiesAt: '/calls',
  });
}
