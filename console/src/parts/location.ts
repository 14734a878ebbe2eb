import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { withQuery } from '../api/client.ts';

/**
 * Where in the console somebody is: the part of the address behind the `#`, which reaches no server. It has a path and a query,
 * as in `#/calls?keyId=key_1`, so that each view has an address that can be bookmarked and sent to somebody.
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

/** The address of a place; parameters without a value are left out. */
export function hashOf(path: string, query: Parameters = {}): string {
  return `#${withQuery(path, query)}`;
}

/** Goes to a place; `isReplaced`: "back" does not return to where one was. */
export function goTo(hash: string, isReplaced = false): void {
  if (!isReplaced) window.location.hash = hash;
  else {
    window.history.replaceState(null, '', hash);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  }
}

/** The parameters of the place, and a function that changes some of them and stays on the page. */
export function usePlaceQuery() {
  const { path, query } = usePlace();
  const change = useCallback(
    (changed: Parameters) => goTo(hashOf(path, { ...query, ...changed }), true),
    [path, query],
  );
  return [query, change] as const;
}

/** Those of some parameters that the place has. */
export function chosenOf(query: Place['query'], names: readonly string[]) {
  return Object.fromEntries(names.filter((name) => query[name] !== undefined).map((name) => [name, query[name]]));
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener('hashchange', onChange);
  return () => window.removeEventListener('hashchange', onChange);
}
