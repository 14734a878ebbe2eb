import type { Command } from 'commander';
import type { AdminClient } from '../api/management/admin-client.ts';
import { type CliProcess, type GlobalFlags, idempotencyKeyOf } from './command.ts';
import { createOutput, type Output } from './output.ts';
import { listAll, listUpTo, queryOf } from './pages.ts';
import { withIds } from './references.ts';
import type { Column } from './table.ts';
import type { AdminUse } from './with-admin.ts';

/**
 * Arguments and options of a command by name, in camel case; an option with a parser has the parsed value. Commands that use the admin
 * API also get `accountId`, `userId` and `tokenId`: the ids of what `account`, `user` and `token` name.
 */
export type Given = Readonly<Record<string, unknown>>;

/** Resolves with the exit code; undefined means 0. */
type Work = Promise<number | undefined>;
type Action = (...received: unknown[]) => Promise<void>;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface SentRequest<Response> {
  /** Members that are undefined are not sent. */
  readonly body?: (given: Given) => object;
  /** What `--json` prints if the response has no body. */
  readonly result?: (given: Given) => object;
  readonly text: (response: Response, given: Given) => string;
}

interface ShownList<Row> {
  /** The members of `Given` that are sent as query parameters. */
  readonly filters?: readonly string[];
  /** Printed in place of a table if there are no rows. */
  readonly empty: string | ((given: Given) => string);
  readonly columns: readonly Column<Row>[];
}

/** Creates the actions of commands. */
export class CommandKit {
  readonly process: CliProcess;
  /** The exit code of the command that ran. */
  exitCode = 0;

  constructor(process: CliProcess) {
    this.process = process;
  }

  /** Creates the action of a command that does not use the admin API. */
  plain(work: (flags: GlobalFlags, output: Output, given: Given) => Work): Action {
    return async (...received) => {
      // Commander passes the arguments, the command's own options and the command.
      const command = received.at(-1) as Command;
      const flags = command.optsWithGlobals<GlobalFlags>();
      const named = command.registeredArguments.map((argument, index) => [argument.name(), received[index]]);
      const output = createOutput(flags.json === true, this.process.writeOut);
      this.exitCode = (await work(flags, output, { ...Object.fromEntries(named), ...command.opts() })) ?? 0;
    };
  }

  /** Creates the action of a command that only reads through the admin API. It prints on standard error which database it reads. */
  reading(work: (admin: AdminClient, output: Output, given: Given) => Work): Action {
    return this.#throughAdmin('reads', work);
  }

  /** Creates the action of a command that changes something through the admin API. */
  changing(work: (admin: AdminClient, output: Output, given: Given) => Work): Action {
    return this.#throughAdmin('changes', work);
  }

  /**
   * Creates the action of a command that sends one request to the admin API and prints the response.
   *
   * @param endpoint such as `PATCH /accounts/:accountId`; `:name` is an argument, or an id that `Given` has
   */
  sends<Response = null>(endpoint: `${Method} /${string}`, request: SentRequest<Response>): Action {
    const [method, path] = endpoint.split(' ') as [Method, string];
    const { body, result, text } = request;
    const action = method === 'GET' ? this.reading : this.changing;
    return action.call(this, async (admin, output, given) => {
      const response = await admin.request<Response>(method, fill(path, given), body?.(given), idempotencyKeyOf(given));
      output.print(result?.(given) ?? response, () => text(response, given));
    });
  }

  /** Creates the action of a command that prints a list of the admin API: `--limit` items if the command has that option, else all. */
  lists<Row>(path: string, { filters = [], empty, columns }: ShownList<Row>): Action {
    return this.reading(async (admin, output, given) => {
      const query = queryOf(given, filters);
      const filled = fill(path, given);
      const rows =
        given.limit === undefined
          ? await listAll<Row>(admin, filled, query)
          : await listUpTo<Row>(admin, filled, query, String(given.limit));
      // Imported here, because `faregate serve` shows no table.
      const { renderTable } = await import('./table.ts');
      output.print(rows, () => renderTable(rows, typeof empty === 'string' ? empty : empty(given), columns));
    });
  }

  #throughAdmin(use: AdminUse, work: (admin: AdminClient, output: Output, given: Given) => Work): Action {
    return this.plain(async (flags, output, given) => {
      // An invalid idempotency key is a usage error, whether or not there is a database.
      idempotencyKeyOf(given);
      const { withAdmin } = await import('./with-admin.ts');
      return withAdmin(flags, this.process, use, async (admin) => work(admin, output, await withIds(admin, given)));
    });
  }
}

/** Replaces the `:name` segments of a path with the given values. */
function fill(path: string, given: Given): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(given[name])));
}

/** Descriptions of arguments that several commands have. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  account: 'id or name',
  user: 'id, e-mail address, or the name of a user without an address',
  key: 'the id of the key, such as key_01…',
  call: 'the id of the call, such as call_01…',
  subscription: 'the id of the subscription, such as sub_01…',
  endpoint: 'the id of the endpoint, such as whk_01…',
  batch: 'the id of the batch, such as vb_01…',
};

/**
 * Adds a command to a group.
 *
 * @param usage its name and arguments, such as `top-up <account> <yuan>`
 * @param texts descriptions of arguments that are not in `ARGUMENTS` or differ from it
 */
export function addCommand(
  group: Command,
  usage: string,
  description: string,
  texts: Readonly<Record<string, string>> = {},
): Command {
  const [name, ...args] = usage.split(' ') as [string, ...string[]];
  const command = group.command(name).description(description);
  for (const argument of args) {
    const key = argument.slice(1, -1);
    command.argument(argument, texts[key] ?? ARGUMENTS[key]);
  }
  return command;
}
