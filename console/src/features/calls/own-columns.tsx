import type { OwnCall, OwnCallInFlight, OwnRefusal } from '../../api/types.ts';
import { useCallColumns } from '../../parts/calls/call-columns.tsx';
import { callColumnTexts } from '../../parts/calls/column-texts.ts';
import { useRefusalColumns } from '../../parts/calls/refusal-columns.tsx';
import { useKeyNames } from '../../parts/keys/own-key-names.ts';
import type { Column } from '../../parts/list-table.tsx';
import { useTexts } from '../../text/language.tsx';

/** The columns of lists of calls of the own account. */
export function useOwnCallColumns(): Column<OwnCall | OwnCallInFlight>[] {
  const text = useTexts(callColumnTexts);
  const keyNames = useKeyNames();
  return useCallColumns<OwnCall | OwnCallInFlight>({
    whose: { header: text.key, cell: ({ keyId }) => keyNames.get(keyId) ?? keyId },
    storiesAt: '/calls',
  });
}

/** The columns of lists of refusals of the own account. */
export function useOwnRefusalColumns(): Column<OwnRefusal>[] {
  const text = useTexts(callColumnTexts);
  const keyNames = useKeyNames();
  return useRefusalColumns<OwnRefusal>({
    header: text.key,
    cell: ({ keyId }) => (keyId === null ? '–' : (keyNames.get(keyId) ?? keyId)),
  });
}
