import { useEffect, useRef, useState } from 'react';

/**
 * What is being entered: what is stored, again whenever the form is opened (one that stands on a page always is). The third is what
 * was stored then.
 */
export function useDraft<Draft>(stored: () => Draft, isOpen = true) {
  const [opened, setOpened] = useState(stored);
  const [draft, setDraft] = useState(opened);
  const wasOpen = useRef(isOpen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is read meanwhile does not replace what is being entered
  useEffect(() => {
    const isOpened = isOpen && !wasOpen.current;
    wasOpen.current = isOpen;
    if (!isOpened) return;
    const now = stored();
    setOpened(now);
    setDraft(now);
  }, [isOpen]);
  return [draft, (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change })), opened] as const;
}
