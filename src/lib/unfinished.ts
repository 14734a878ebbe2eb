/**
 * What is made in several transactions, and may be left between two of them by a crash or an outage. Each of its steps may run again, and
 * on several nodes at once.
 */
export interface Unfinished {
  /** Some of those that are left, behind an id and in the order of ids; empty if there are no more. */
  list(behindId: string): Promise<readonly UnfinishedItem[]>;
}

interface UnfinishedItem {
  readonly id: string;
  readonly accountId: string;
  /** Runs the steps that are left, or takes back what there is. */
  finish(): Promise<unknown>;
}

/** After so many failures of a kind in a database the rest of it there is left to the next round: it does not respond. */
const FAILURES_MAX = 10;

/** Which of several databases has what is of an account. */
type PlaceOf = (accountId: string) => unknown;

/**
 * Finishes what is left of each kind, one after the other. What fails keeps nothing else from being finished.
 *
 * @param placeOf by default there is one database.
 * @throws the first failure, at the end.
 */
export async function finishAll(
  kinds: readonly Unfinished[],
  isStopping: () => boolean,
  placeOf: PlaceOf = () => null,
): Promise<void> {
  const failures: unknown[] = [];
  for (const kind of kinds) {
    try {
      failures.push(...(await finishKind(kind, isStopping, placeOf)));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function finishKind({ list }: Unfinished, isStopping: () => boolean, placeOf: PlaceOf): Promise<unknown[]> {
  const failures: unknown[] = [];
  const failuresAt = new Map<unknown, number>();
  const isSilent = (place: unknown): boolean => (failuresAt.get(place) ?? 0) >= FAILURES_MAX;

  async function finishItem({ accountId, finish }: UnfinishedItem): Promise<void> {
    let place: unknown = null;
    try {
      place = await placeOf(accountId);
      if (!isSilent(place)) await finish();
    } catch (error) {
      failures.push(error);
      failuresAt.set(place, (failuresAt.get(place) ?? 0) + 1);
    }
  }

  for (let behindId = ''; !isStopping(); ) {
    const items = await list(behindId);
    if (items.length === 0) break;
    for (const item of items) {
      // Either there is one database, or nobody knows which has it.
      if (isSilent(null) || isStopping()) return failures;
      behindId = item.id;
      await finishItem(item);
    }
  }
  return failures;
}
