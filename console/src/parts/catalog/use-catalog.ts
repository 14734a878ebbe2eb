import { useMemo } from 'react';
import { useRead } from '../../api/queries.ts';
import type { Catalog as CatalogState, RevisionSummary } from '../../api/types.ts';
import type { Read } from '../notices.tsx';
import { type CatalogValue, readCatalogText } from './catalog-value.ts';

export interface Catalog {
  readonly state: CatalogState;
  /** Without a revision that was published at once, and waits some seconds until all nodes have read it. */
  readonly scheduled: RevisionSummary | null;
  /** The text of `state.base`, the last revision, from which edits start. */
  readonly value: CatalogValue;
  /** Whether the user may edit it here. */
  readonly canEdit: boolean;
}

/** The catalog that edits start from; `null` while it is read. */
export function useCatalog(mayOperate: boolean): { readonly catalog: Catalog | null; readonly read: Read } {
  const read = useRead('GET /admin/v1/catalog', {}, { isLive: true });
  const state = read.data;
  const text = state?.text;
  const value = useMemo(() => (text === undefined ? null : readCatalogText(text)), [text]);
  if (state === undefined || value === null) return { catalog: null, read };
  return {
    catalog: {
      state,
      scheduled: isWaiting(state.scheduled) ? state.scheduled : null,
      value,
      canEdit: mayOperate && state.mode === 'database',
    },
    read,
  };
}

const LEAD_MS_MAX = 30_000;

function isWaiting(scheduled: RevisionSummary | null): boolean {
  return (
    scheduled?.inForceAt != null && Date.parse(scheduled.inForceAt) - Date.parse(scheduled.createdAt) > LEAD_MS_MAX
  );
}
