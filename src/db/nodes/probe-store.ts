import type { Database } from '../database.ts';

const probe = { name: 'questions.probe', text: 'select 1' };

/** Sends an empty transaction in the same way as calls do. */
export async function probeDatabase(database: Database, signal: AbortSignal): Promise<void> {
  await database.readThenWrite(
    {
      name: probe.name,
      reads: [{ statement: probe, parameters: [] }],
      decide: () => ({ writes: [], result: undefined }),
    },
    signal,
  );
}
