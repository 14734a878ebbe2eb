import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { withQuery } from '../api/client.ts';

/**
 * The location within the console: path and query in the part of the address after `#`, such as `#/calls?keyId=key_1`. Every view can be
 * bookmarked and shared, and the server never receives the location.
 */
export interface Place {
  readonly path: string;
  readonly query: { readonly [name: string]: string };
}

export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  return useMemo(() => placeOf(hash), [hash]);
}

export function placeOf(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s);
  return { path: `/${path.replace(/\/$/, '')}`, query: Object.fromEntries(new URLSearchParams(search)) };
}

type Parameters = { readonly [name: string]: string | undefined | null };

/** Parameters without a value are left out. */
export function hashOf(path: string, query: Parameters = {}): string {
  return `#${withQuery(path, query)}`;
}

/** Navigates to a location. `isReplaced` replaces the current history entry and keeps its scroll position. */
export function goTo(hash: string, isReplaced = false): void {
  if (!isReplaced) window.location.hash = hash;
  else {
    window.history.replaceState(window.history.state, '', hash);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  }
}

/** Query parameters of a page: the open dialog and its subject, and the number of loaded pages of the list. */
export const DIALOG = 'do';
export const DIALOG_OF = 'of';
export const LIST_PAGES = 'pages';

/**
 * The query of the location, and a function that changes some parameters without a history entry. A list starts again at its first page
 * if another parameter, such as a filter, changes.
 */
export function usePlaceQuery() {
  const { path, query } = usePlace();
  const change = useCallback(
    (changed: Parameters) => {
      const now = placeOf(window.location.hash);
      // A dialog may close, or a filter may be applied, after the user has left the page.
      if (now.path !== path) return;
      const isOfSameList = DIALOG in changed || LIST_PAGES in changed;
      goTo(hashOf(path, { ...now.query, ...(isOfSameList ? {} : { [LIST_PAGES]: null }), ...changed }), true);
    },
    [path],
  );
  return [query, change] as const;
}

export function chosenOf(query: Place['query'], names: readonly string[]) {
  return Object.fromEntries(names.filter((name) => query[name] !== undefined).map((name) => [name, query[name]]));
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener('hashchange', onChange);
  return () => window.removeEventListener('hashchange', onChange);
}
