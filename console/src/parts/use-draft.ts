import { useEffect, useState } from 'react';

/** What is being entered: what is stored, again whenever the form is opened. */
export function useDraft<Draft>(isOpen: boolean, stored: () => Draft) {
  const [draft, setDraft] = useState(stored);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is read meanwhile does not replace what is being entered
  useEffect(() => {
    if (isOpen) setDraft(stored());
  }, [isOpen]);
  return [draft, (change: Partial<Draft>) => setDraft({ ...draft, ...change })] as const;
}
