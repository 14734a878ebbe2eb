import { useEffect, useState } from 'react';

/** What is being entered: what is stored, again whenever the form is opened. The third is what was stored then. */
export function useDraft<Draft>(isOpen: boolean, stored: () => Draft) {
  const [opened, setOpened] = useState(stored);
  const [draft, setDraft] = useState(opened);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is read meanwhile does not replace what is being entered
  useEffect(() => {
    if (!isOpen) return;
    const now = stored();
    setOpened(now);
    setDraft(now);
  }, [isOpen]);
  return [draft, (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change })), opened] as const;
}
