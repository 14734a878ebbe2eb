import { type ChangeEvent, useEffect, useRef, useState } from 'react';

/** A change reported by a field: the value, or the event that contains it. */
type Entered<Value> = Value | ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>;

/**
 * The state of a form. It is reset to the stored values whenever a dialog opens; inline forms are always open. Returns the draft, a
 * function that binds a field to a member, a setter for some members, and the values at opening.
 */
export function useDraft<Draft>(stored: () => Draft, isOpen = true) {
  const [opened, setOpened] = useState(stored);
  const [draft, setDraft] = useState(opened);
  const wasOpen = useRef(isOpen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refresh must not replace the input
  useEffect(() => {
    const isOpened = isOpen && !wasOpen.current;
    wasOpen.current = isOpen;
    if (!isOpened) return;
    const now = stored();
    setOpened(now);
    setDraft(now);
  }, [isOpen]);
  const set = (change: Partial<Draft>): void => setDraft((now) => ({ ...now, ...change }));
  const field = <Name extends keyof Draft>(name: Name) => ({
    value: draft[name],
    onChange: (entered: Entered<Draft[Name]>): void => {
      const isEvent = typeof entered === 'object' && entered !== null && 'currentTarget' in entered;
      set({ [name]: isEvent ? entered.currentTarget.value : entered } as unknown as Partial<Draft>);
    },
  });
  return [draft, field, set, opened] as const;
}

export type FieldOf<Draft> = ReturnType<typeof useDraft<Draft>>[1];
