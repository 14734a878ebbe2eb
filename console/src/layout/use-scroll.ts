import { useEffect } from 'react';

/** How long the content of an earlier page may take to reach its height. */
const WAIT_MS = 3_000;
const BY_USER = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

/**
 * Scroll positions by history entry: a new page starts at its top, and the way back leads to where the user was. The browser itself cannot
 * do it, because a page gets its height only when its data is there.
 */
export function useScrollOfEntries(): void {
  useEffect(() => {
    const positions = new Map<string, number>();
    let entry = entryOf() ?? newEntry();
    let stop: (() => void) | null = null;
    window.history.scrollRestoration = 'manual';
    const restore = (toPx: number): void => {
      stop?.();
      stop = scrollWhenPossible(toPx, () => {
        stop = null;
      });
    };
    const noteScroll = (): void => {
      if (stop === null) positions.set(entry, window.scrollY);
    };
    const noteEntry = (): void => {
      const known = entryOf();
      if (known === entry) return;
      entry = known ?? newEntry();
      restore(positions.get(entry) ?? 0);
    };
    window.addEventListener('scroll', noteScroll, { passive: true });
    window.addEventListener('hashchange', noteEntry);
    return () => {
      stop?.();
      window.removeEventListener('scroll', noteScroll);
      window.removeEventListener('hashchange', noteEntry);
    };
  }, []);
}

/** Scrolls as soon as the page is high enough, unless the user scrolls first. Returns a function that stops it. */
function scrollWhenPossible(toPx: number, onEnd: () => void): () => void {
  const untilMs = performance.now() + WAIT_MS;
  let frame = 0;
  const end = (): void => {
    cancelAnimationFrame(frame);
    for (const name of BY_USER) window.removeEventListener(name, end);
    onEnd();
  };
  const step = (): void => {
    window.scrollTo(0, toPx);
    if (Math.abs(window.scrollY - toPx) < 1 || performance.now() > untilMs) end();
    else frame = requestAnimationFrame(step);
  };
  for (const name of BY_USER) window.addEventListener(name, end, { passive: true });
  // After the page has been replaced.
  frame = requestAnimationFrame(step);
  return end;
}

const entryOf = (): string | undefined => (window.history.state as { readonly entry?: string } | null)?.entry;

let entries = 0;

/** Names the current history entry. Names of an earlier load of the page differ. */
function newEntry(): string {
  const entry = `${performance.timeOrigin} ${++entries}`;
  window.history.replaceState({ entry }, '');
  return entry;
}
