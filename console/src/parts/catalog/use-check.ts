import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import type { CheckedCatalog } from '../../api/types.ts';
import type { CatalogEdit } from './edits.ts';

/** An unsaved change of the catalog: the whole text, or edits of some settings. */
export interface CatalogDraft {
  readonly base: number | null;
  readonly text?: string;
  readonly edits?: readonly CatalogEdit[];
}

export interface CheckedDraft {
  readonly draft: CatalogDraft;
  readonly check: CheckedCatalog;
}

/** Checks drafts without publishing them. Not a change: nothing is read again afterwards. The last result stays until the next one. */
export function useCheck() {
  const [checked, setChecked] = useState<CheckedDraft | null>(null);
  const { mutate, isPending, error } = useMutation<CheckedDraft, Error, CatalogDraft>({
    mutationFn: async (draft) => ({ draft, check: await ask('POST /admin/v1/catalog/check', { body: draft }) }),
    onSuccess: setChecked,
  });
  return { checked, check: mutate, reset: () => setChecked(null), isPending, error };
}
