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
  /** Runs the steps that are left, or takes back what there is. */
  finish(): Promise<unknown>;
}

/** After so many failures of a kind the rest of it is left to the next round: its database does not respond. */
const FAILURES_MAX = 10;

/**
 * Finishes what is left of each kind, one after the other. What fails keeps nothing else from being finished.
 *
 * @throws the first failure, at the end.
 */
export async function finishAll(kinds: readonly Unfinished[], isStopping: () => boolean): Promise<void> {
  const failures: unknown[] = [];
  for (const kind of kinds) {
    try {
      failures.push(...(await finishKind(kind, isStopping)));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function finishKind({ list }: Unfinished, isStopping: () => boolean): Promise<unknown[]> {
  const failures: unknown[] = [];
  let behindId = '';
  while (failures.length < FAILURES_MAX && !isStopping()) {
    const items = await list(behindId);
    if (items.length === 0) break;
    for (const { id, finish } of items) {
      behindId = id;
      if (failures.length >= FAILURES_MAX || isStopping()) break;
      try {
        await finish();
      } catch (error) {
        failures.push(error);
      }
    }
  }
  return failures;
}
