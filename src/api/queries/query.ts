import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Principal } from '../../accounting/accounts/principals.ts';
import type { CurrentPlan } from '../../accounting/plans/snapshot.ts';
import type { Config } from '../../config/schema.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import type { PublicCatalog } from '../../providers/catalog/public-catalog.ts';
import type { QueryString } from './paging.ts';

export interface QueryResponse {
  /** A text is JSON, which is sent as it is. */
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface QueryRequest {
  /** Who asks; `null` at addresses that require no API key. */
  readonly principal: Principal | null;
  /** Model in the path; empty if the path has none. */
  readonly modelId: string;
  readonly headers: IncomingHttpHeaders;
  readonly search: QueryString;
}

/** Operation of balance queries, whose refusals are not recorded (contract 4.10). */
export const BALANCE_QUERY = 'balance';

/** What the OpenAPI document says of a query. Only tests validate with these schemas. */
export interface QueryDocument {
  readonly summary: string;
  readonly tag: 'Models' | 'Balance';
  readonly response: z.ZodType;
  readonly query: z.ZodObject | null;
}

/** An endpoint that the gateway answers itself: no provider, no reservation, no change. */
export interface Query {
  readonly name: string;
  readonly document: QueryDocument;
  /** Answers a request. @throws GatewayError if the resource does not exist, or the query string is invalid */
  response(request: QueryRequest, sources: QuerySources): Promise<QueryResponse>;
}

export interface QuerySources {
  balanceNano(accountId: string): Promise<bigint>;
  /** Returns what remains of the tightest budget of the key and its owner; `null`: they have none. */
  budgetLeftNano(key: Pick<Principal, 'accountId' | 'keyId' | 'isKeyLimited' | 'memberId'>): Promise<bigint | null>;
  publicCatalog(): PublicCatalog;
  config(): Config;
  /** Returns the catalog for accounts without a group. */
  catalog(): Catalog;
  /** Returns the account's current plan, by the database's clock. */
  subscription(accountId: string): Promise<CurrentPlan & { readonly nowMs: number }>;
}
