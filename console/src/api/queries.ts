import {
  keepPreviousData,
  type QueryKey,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useRef } from 'react';
import { useAccountChoice } from './account-choice.ts';
import {
  type AnyInput,
  ApiError,
  ask,
  type ChangeName,
  type InputOf,
  isAway,
  type ReadName,
  type ResponseOf,
} from './client.ts';

/** Refresh interval of live data while the page is visible. */
export const LIVE_MS = 5000;

export interface ReadOptions {
  /** Refreshed every `LIVE_MS` while the page is visible. */
  readonly isLive?: boolean;
  /** `false` postpones the read. */
  readonly isWanted?: boolean;
  /** Keeps the previous result while the user types. Without it, a result is never shown for another query. */
  readonly isTyped?: boolean;
}

/** Refresh interval: always for live data, otherwise only while the gateway does not respond. */
export function againWhileAway(isLive: boolean) {
  return ({ state }: { readonly state: { readonly error: Error | null } }): number | false =>
    isLive || isAway(state.error) ? LIVE_MS : false;
}

export const LINK_KEY = 'link';

/** Reads an endpoint once, after each change, and repeatedly if live. */
export function useRead<Name extends ReadName>(name: Name, input: InputOf<Name>, options: ReadOptions = {}) {
  const chosen = useChosenAccount()(name, input as AnyInput) as InputOf<Name>;
  return useQuery({
    queryKey: [name, chosen] satisfies QueryKey,
    queryFn: ({ signal }) => ask(name, chosen, { signal }),
    ...readWhen(options),
  });
}

function readWhen({ isLive = false, isWanted = true, isTyped = false }: ReadOptions) {
  return {
    refetchInterval: againWhileAway(isLive),
    enabled: isWanted,
    ...(isTyped && { placeholderData: keepPreviousData }),
  };
}

export type ListName = {
  [Name in ReadName]: ResponseOf<Name> extends { data: readonly unknown[]; nextCursor: string | null } ? Name : never;
}[ReadName];

export type ItemOf<Name extends ListName> = ResponseOf<Name>['data'][number];

/** Default page size: a screen of rows. Rendering rows takes longer than reading them. */
const PAGE_ITEMS = 25;

/** Reads a list page by page. A live list is refreshed from its first page. */
export function useList<Name extends ListName>(name: Name, input: InputOf<Name>, options: ReadOptions = {}) {
  const chosen = useChosenAccount()(name, input as AnyInput);
  const query = useInfiniteQuery({
    queryKey: [name, 'list', chosen] satisfies QueryKey,
    queryFn: ({ signal, pageParam }) => {
      const page = { ...chosen, query: { limit: PAGE_ITEMS, ...chosen.query, cursor: pageParam } };
      return ask(name, page as InputOf<Name>, { signal }) as Promise<{
        data: readonly ItemOf<Name>[];
        nextCursor: string | null;
      }>;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    ...readWhen(options),
  });
  return {
    items: query.data?.pages.flatMap(({ data }) => data) ?? [],
    isLoading: query.isPending,
    isFetching: query.isFetching,
    error: query.error,
    hasMore: query.hasNextPage,
    pages: query.data?.pages.length ?? 0,
    loadMore: () => void query.fetchNextPage(),
    retry: () => void query.refetch(),
  };
}

const WHOLE_PAGES_MAX = 10;

/** Reads up to `WHOLE_PAGES_MAX` pages of 500 items for a chart; `isCut` if the list has more. */
export function useWholeList<Name extends ListName>(name: Name, input: InputOf<Name>) {
  const chosen = useChosenAccount()(name, input as AnyInput);
  return useQuery({
    queryKey: [name, 'whole', chosen] satisfies QueryKey,
    queryFn: async ({ signal }) => {
      const items: ItemOf<Name>[] = [];
      let response: ResponseOf<Name>;
      let cursor: string | null = null;
      let pages = 0;
      do {
        const page: AnyInput = { ...chosen, query: { ...chosen.query, limit: 500, cursor: cursor ?? undefined } };
        response = await ask(name, page as InputOf<Name>, { signal });
        items.push(...(response.data as readonly ItemOf<Name>[]));
        cursor = response.nextCursor;
        pages++;
      } while (cursor !== null && pages < WHOLE_PAGES_MAX);
      return { items, isCut: cursor !== null, last: response };
    },
    refetchInterval: againWhileAway(false),
  });
}

/** After a lost response, the same change counts as a retry for this long. */
const SECOND_TRY_MS = 300_000;

interface Try {
  readonly idempotencyKey: string;
  readonly untilMs: number;
}

/**
 * Sends a change, then refreshes everything that was read. A retry after a lost response sends the same idempotency key. Endpoints that
 * accept one (money, grants, vouchers) apply the change once; others, such as new keys, may apply it twice.
 */
export function useChange<Name extends ChangeName>(name: Name) {
  const queries = useQueryClient();
  /** By input, so that concurrent requests share a key only if they are the same. */
  const tries = useRef(new Map<string, Try>());
  const choose = useChosenAccount();
  return useMutation<ResponseOf<Name>, Error, InputOf<Name>>({
    mutationFn: async (given) => {
      const input = choose(name, given as AnyInput) as InputOf<Name>;
      const text = JSON.stringify(input);
      const now = Date.now();
      const before = tries.current.get(text);
      const idempotencyKey = before !== undefined && now < before.untilMs ? before.idempotencyKey : randomKey();
      tries.current.set(text, { idempotencyKey, untilMs: Number.POSITIVE_INFINITY });
      try {
        const response = await ask(name, input, { idempotencyKey });
        tries.current.delete(text);
        return response;
      } catch (error) {
        if (isOutcomeUnknown(error)) tries.current.set(text, { idempotencyKey, untilMs: Date.now() + SECOND_TRY_MS });
        else tries.current.delete(text);
        throw error;
      }
    },
    // One-time links are not read again: reading a used link counts as a guess.
    onSettled: () => queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== LINK_KEY }),
  });
}

/** Whether the change may have been applied although no response confirms it. */
export function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status >= 500;
}

/** `crypto.randomUUID` exists on https and localhost only. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Adds the selected account to requests of the account API. */
export function useChosenAccount() {
  const { accountId } = useAccountChoice();
  return (name: string, input: AnyInput): AnyInput => {
    if (accountId === null || !/^\w+ \/account\/v1\//.test(name) || NOT_OF_AN_ACCOUNT.test(name)) return input;
    return { ...input, query: { accountId, ...input.query } };
  };
}

/** Endpoints of the user, which belong to no account. */
const NOT_OF_AN_ACCOUNT = /\/(?:sessions?|password|user|links|oidc|identities|password-resets)(?:\/|$)/;
