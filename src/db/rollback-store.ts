import type { DatabasePool, Queryable } from './database.ts';
import { StatementError } from './errors.ts';

/** Runs work in a transaction, which is rolled back if the work returns a refusal. */
export async function orRolledBack<Refusal extends string>(
  database: DatabasePool,
  work: (transaction: Queryable) => Promise<Refusal | null>,
): Promise<Refusal | null> {
  try {
    return await database.transaction(async (transaction) => {
      const refusal = await work(transaction);
      if (refusal !== null) throw new RolledBack(refusal);
      return null;
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.refusal as Refusal;
    if (error instanceof StatementError && error.constraint === SIGN_IN_NAMES) return 'name_taken' as Refusal;
    throw error;
  }
}

/** Unique index of sign-in names. Of two concurrent transactions with the same name, it rejects the second. */
const SIGN_IN_NAMES = 'users_by_sign_in_name';

class RolledBack extends Error {
  readonly refusal: string;

  constructor(refusal: string) {
    super('rolled back');
    this.refusal = refusal;
  }
}
