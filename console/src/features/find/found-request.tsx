import { ApiError } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import type { Call, Refusal } from '../../api/types.ts';
import { useAllCallColumns, useAllRefusalColumns } from '../../parts/calls/operator-columns.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { Found, FoundNames, useFoundNames } from './found-names.tsx';
import { findTexts } from './texts.ts';

/** Finds calls and refusals by request id, a call by its id, and names that contain the text. */
export function FoundText({ id }: { readonly id: string }) {
  const text = useTexts(findTexts);
  const isCall = /^call_\w+$/.test(id);
  const { calls, refusals, ...request } = useFoundRequest(id, isCall);
  const names = useFoundNames(id, !isCall);
  const callColumns = useAllCallColumns();
  const refusalColumns = useAllRefusalColumns();
  if (request.isPending || names.isPending) return <Loading />;
  const error = request.error ?? names.error;
  if (error !== null) return <ErrorNotice error={error} />;
  const lists = [calls, refusals, names.accounts, names.users, names.batches];
  if (lists.every(({ length }) => length === 0) && !names.hasMore) {
    return (
      <Section>
        <EmptyState title={text.nothing} hint={text.nothingHint} />
      </Section>
    );
  }
  return (
    <>
      <Found title={text.calls} items={calls} columns={callColumns} />
      <Found title={text.refusals} items={refusals} columns={refusalColumns} />
      <FoundNames {...names} />
    </>
  );
}

interface FoundRequest {
  readonly calls: readonly Call[];
  readonly refusals: readonly Refusal[];
  readonly error: Error | null;
  readonly isPending: boolean;
}

function useFoundRequest(id: string, isCall: boolean): FoundRequest {
  const ofId = useRead('GET /admin/v1/calls/{id}', { path: { id } }, { isWanted: isCall });
  const ofRequest = useRead('GET /admin/v1/calls', { query: { requestId: id } }, { isWanted: !isCall });
  if (isCall) {
    const isUnknown = ofId.error instanceof ApiError && ofId.error.status === 404;
    return {
      calls: ofId.data === undefined || isUnknown ? [] : [ofId.data],
      refusals: [],
      error: isUnknown ? null : ofId.error,
      isPending: ofId.isPending,
    };
  }
  const found = ofRequest.data;
  return {
    calls: (found?.data ?? []).filter((call): call is Call => call.status !== 'in_flight'),
    refusals: found !== undefined && 'refusals' in found ? found.refusals : [],
    error: ofRequest.error,
    isPending: ofRequest.isPending,
  };
}
