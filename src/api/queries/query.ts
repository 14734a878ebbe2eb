import type { CurrentPlan } from '../../accounting/plans/snapshot.ts';
import type { Config } from '../../config/schema.ts';
import type { PublicCatalog } from '../../providers/catalog/public-catalog.ts';

/** What a query answers. */
export interface QueryAnswer {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a query knows of its request. */
export interface QueryRequest {
  /** The account that asks; `null` at addresses that need no key. */
  readonly accountId: string | null;
  /** The model that the path names; empty where it names none. */
  readonly modelId: string;
}

/** An address that answers from what the gateway itself knows. It calls no provider, reserves and changes nothing. */
export interface Query {
  /** @throws GatewayError where what was asked for is not there. */
  answer(request: QueryRequest, sources: QuerySources): Promise<QueryAnswer>;
}

/** What queries may read. */
export interface QuerySources {
  /** The money of an account at this moment. */
  balanceNano(accountId: string): Promise<bigint>;
  publicCatalog(): PublicCatalog;
  config(): Config;
  /** The Coding Plan of an account at this moment. */
  subscription(accountId: string): Promise<CurrentPlan>;
  nowMs(): number;
}
