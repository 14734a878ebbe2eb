import type { Principal } from '../accounts/principals.ts';

/** What a query answers: a JSON body. */
export interface Query {
  answer(principal: Principal, sources: QuerySources): Promise<object>;
}

/** What queries may read. They change nothing and reserve nothing. */
export interface QuerySources {
  /** The money of an account at this moment. */
  balanceNano(accountId: string): Promise<bigint>;
}
