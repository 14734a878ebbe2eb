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

/** How often what is live is read again while the page is seen. */
export const LIVE_MS = 5000;

export interface ReadOptions {
  /** Read again every five seconds while the page is seen. */
  readonly isLive?: boolean;
  /** `false`: not read yet. */
  readonly isWanted?: boolean;
  /** What was found before stays until the response comes, while somebody types. Otherwise the response to one question would stand under the words of the next. */
  readonly isTyped?: boolean;
}

/** When something is read again by itself: always if it is live, otherwise while the gateway, or what is before it, has no response. */
export function againWhileAway(isLive: boolean) {
  return ({ state }: { readonly state: { readonly error: Error | null } }): number | false =>
    isLive || isAway(state.error) ? LIVE_MS : false;
}

/** What is read of a one-time link. */
export const LINK_KEY = 'link';

/** Reads something once, and again when a change was made or, if it is live, every five seconds. */
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

/** The names of endpoints whose response is a page of a list. */
export type ListName = {
  [Name in ReadName]: ResponseOf<Name> extends { data: readonly unknown[]; nextCursor: string | null } ? Name : never;
}[ReadName];

/** An item of a list. */
export type ItemOf<Name extends ListName> = ResponseOf<Name>['data'][number];

/** The items of a page of a list, unless more are asked for: a screen of rows. Drawing a row takes longer than reading it. */
const PAGE_ITEMS = 25;

/** Reads a list page by page; a list that is live is read again from its first page on. */
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
    loadMore: () => void query.fetchNextPage(),
    retry: () => void query.refetch(),
  };
}

/** The most pages of a list that are read at once, for a chart. */
const WHOLE_PAGES_MAX = 10;

/** Reads a list whole, for a chart, as far as it has so many pages of 500; `isCut` if it has more. */
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

/** Within this time after a lost response the same change is a second try. */
const SECOND_TRY_MS = 300_000;

interface Try {
  readonly idempotencyKey: string;
  /** Until when the same input is the same change. */
  readonly untilMs: number;
}

/**
 * Makes a change. What was read is read again afterwards. A second try after a lost response has the idempotency key of the first, so
 * that the endpoints that take one (of money, grants, vouchers) change nothing twice; of others, such as new keys, it may make two.
 */
export function useChange<Name extends ChangeName>(name: Name) {
  const queries = useQueryClient();
  /** By what was sent. Requests at the same time have keys of their own unless they are the same one. */
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
    // A one-time link is looked at once: looking at a used one would count as a guess.
    onSettled: () => queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== LINK_KEY }),
  });
}

/** Whether what was asked may have been done, or may be yet, although no response said so. */
export function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status >= 500;
}

/** `crypto.randomUUID` exists on https and localhost only. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Adds the account that the person looks at to what is asked of the account API. */
export function useChosenAccount() {
  const { accountId } = useAccountChoice();
  return (name: string, input: AnyInput): AnyInput => {
    if (accountId === null || !/^\w+ \/account\/v1\//.test(name) || NOT_OF_AN_ACCOUNT.test(name)) return input;
    return { ...input, query: { accountId, ...input.query } };
  };
}

/** Addresses of people, which belong to no account. */
const NOT_OF_AN_ACCOUNT = /\/(?:sessions?|password|user|links|oidc|identities)(?:\/|$)/;
