import { createHash } from 'node:crypto';
import { AdminClientError } from '../../api/management/admin-client-error.ts';
import { CliError, type CliProcess } from '../command.ts';
import { withProgress } from '../progress.ts';

/** Returns the idempotency key of an account, from values that identify it in every run of an import. */
export function importKey(...identity: readonly (string | null)[]): string {
  return `import-${createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32)}`;
}

interface ImportOptions {
  /** What an item is called, such as `row`. */
  readonly noun: string;
  readonly process: CliProcess;
  /** Message if an account was imported before with other values. */
  readonly otherwise: string;
}

/** Imports items one after another. @throws CliError with the one that failed and the number of complete ones */
export function importEach<Item extends { readonly name: string; readonly at?: string }, Imported>(
  items: readonly Item[],
  { noun, process, otherwise }: ImportOptions,
  importOne: (item: Item) => Promise<Imported>,
): Promise<Imported[]> {
  return withProgress(process, async (progress) => {
    const imported: Imported[] = [];
    for (const item of items) {
      progress.show(`${noun} ${imported.length + 1} of ${items.length}: ${item.name}`);
      try {
        imported.push(await importOne(item));
      } catch (error) {
        if (!(error instanceof AdminClientError)) throw error;
        const { code, message } = error;
        const isOther = code === 'conflict_error' && message.includes('Idempotency-Key');
        const done = `${imported.length} of ${items.length} ${noun}s are done; run the command again to continue.`;
        throw new CliError(`${item.at ?? ''}${item.name}: ${isOther ? otherwise : message}\n${done}`, { cause: error });
      }
    }
    return imported;
  });
}

const PROBLEMS_MAX = 20;

/** Reports problems, if there are any. @throws CliError with the first problems and the advice */
export function refuseProblems(problems: readonly string[], advice: string): void {
  if (problems.length === 0) return;
  const more = problems.length > PROBLEMS_MAX ? [`and ${problems.length - PROBLEMS_MAX} more`] : [];
  throw new CliError([...problems.slice(0, PROBLEMS_MAX), ...more, advice].join('\n'));
}
