import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Principal } from '../../accounting/accounts/principals.ts';
import type { CurrentPlan } from '../../accounting/plans/snapshot.ts';
import type { Config } from '../../config/schema.ts';
import type { PublicCatalog } from '../../providers/catalog/public-catalog.ts';
import type { QueryString } from './paging.ts';

/** The response of a query. */
export interface QueryResponse {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a query gets of its request. */
export interface QueryRequest {
  /** Whose key it is; `null` at addresses that need no API key. */
  readonly principal: Principal | null;
  /** The model in the path; empty if the path names none. */
  readonly modelId: string;
  readonly headers: IncomingHttpHeaders;
  readonly search: QueryString;
}

/** The name of all queries of balances, whose refusals are not recorded (contract 4.10). */
export const BALANCE_QUERY = 'balance';

/** What a query responds with, for its documentation. Nothing is checked by it but tests. */
export interface QueryDocument {
  readonly summary: string;
  readonly tag: 'Models' | 'Balance';
  readonly response: z.ZodType;
  /** The parameters of its query string; `null`: it has none. */
  readonly query: z.ZodObject | null;
}

/** An endpoint that replies from the gateway's own knowledge: it calls no provider, and reserves and changes nothing. */
export interface Query {
  /** For reports. */
  readonly name: string;
  readonly document: QueryDocument;
  /** @throws GatewayError where the requested resource does not exist, or the query string cannot be read. */
  response(request: QueryRequest, sources: QuerySources): Promise<QueryResponse>;
}

/** The data that queries read. */
export interface QuerySources {
  /** The balance of an account now, in nano-yuan. */
  balanceNano(accountId: string): Promise<bigint>;
  /** What the budget of a key leaves that leaves least, in nano-yuan; `null` if it has none. */
  budgetLeftNano(key: Pick<Principal, 'accountId' | 'keyId' | 'isKeyLimited' | 'memberId'>): Promise<bigint | null>;
  publicCatalog(): PublicCatalog;
  config(): Config;
  /** The plan of an account now, by the database's clock. */
  subscription(accountId: string): Promise<CurrentPlan & { readonly nowMs: number }>;
}
