import type { Call, CallInFlight, Refusal } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import { AccountLink } from '../links.tsx';
import type { Column } from '../list-table.tsx';
import { useCallColumns } from './call-columns.tsx';
import { callColumnTexts } from './column-texts.ts';
import { useRefusalColumns } from './refusal-columns.tsx';

type AnyCall = Call | CallInFlight;

export function useAllCallColumns(): Column<AnyCall>[] {
  const text = useTexts(callColumnTexts);
  return useCallColumns<AnyCall>({
    whose: {
      header: text.account,
      cell: ({ accountId, accountName }) => <AccountLink accountId={accountId} name={accountName} />,
    },
    storiesAt: '/operator/calls',
    hasIds: true,
  });
}

export function useAllRefusalColumns(): Column<Refusal>[] {
  const text = useTexts(callColumnTexts);
  return useRefusalColumns<Refusal>({
    header: text.account,
    cell: ({ accountId, accountName }) =>
      accountId === null ? text.unknownCaller : <AccountLink accountId={accountId} name={accountName ?? accountId} />,
  });
}
