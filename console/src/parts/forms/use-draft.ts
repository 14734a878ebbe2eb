import { type ChangeEvent, useEffect, useRef, useState } from 'react';

/** What a field says that was changed: the new value, or the event of an input that has it. */
type Entered<Value> = Value | ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>;

/**
 * What is being entered: what is stored, again whenever the form is opened (one that stands on a page always is). Beside it: what a field
 * needs that a member of it is entered in, a function that changes some members, and what was stored when the form was opened.
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

/** Makes what the field of a member of a draft needs. */
export type FieldOf<Draft> = ReturnType<typeof useDraft<Draft>>[1];
