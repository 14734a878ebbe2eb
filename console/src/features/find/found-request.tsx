import { ApiError } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import type { Call, Refusal } from '../../api/types.ts';
import { CallTable, RefusalTable } from '../../parts/calls/operator-tables.tsx';
import { EmptyState, ErrorNotice, Loading } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';
import { useTexts } from '../../text/language.tsx';
import { findTexts } from './texts.ts';

/** What became of a request: its calls, and its refusals. An id of a call finds that one. */
export function FoundRequest({ id }: { readonly id: string }) {
  const text = useTexts(findTexts);
  const { calls, refusals, error, isPending } = useFound(id);
  if (isPending) return <Loading />;
  if (error !== null) return <ErrorNotice error={error} />;
  if (calls.length === 0 && refusals.length === 0) {
    return (
      <Section>
        <EmptyState title={text.noRequest} hint={text.noRequestHint} />
      </Section>
    );
  }
  return (
    <>
      {calls.length > 0 && (
        <Section title={text.calls}>
          <CallTable calls={calls} label={text.calls} />
        </Section>
      )}
      {refusals.length > 0 && (
        <Section title={text.refusals}>
          <RefusalTable refusals={refusals} label={text.refusals} />
        </Section>
      )}
    </>
  );
}

interface Found {
  readonly calls: readonly Call[];
  readonly refusals: readonly Refusal[];
  readonly error: Error | null;
  readonly isPending: boolean;
}

function useFound(id: string): Found {
  const isCall = /^call_\w+$/.test(id);
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
