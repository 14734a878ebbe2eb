import type { Command } from 'commander';
import type { AdminClient } from '../api/management/admin-client.ts';
import { AdminClientError } from '../api/management/admin-client-error.ts';
import { type CliProcess, type GlobalFlags, idempotencyKeyOf } from './command.ts';
import { inOptionNames, namesOf, type OptionNames } from './option-names.ts';
import { createOutput, type Output } from './output.ts';
import { listAll, listUpTo, queryOf } from './pages.ts';
import { withIds } from './references.ts';
import type { Column } from './table.ts';
import type { AdminUse } from './with-admin.ts';

/**
 * Arguments and options of a command by name, in camel case; an option with a parser has its parsed value. Commands that use the admin API
 * also get `accountId`, `userId` and `tokenId`: the ids of what `account`, `user` and `token` name.
 */
export type Given = Readonly<Record<string, unknown>>;

/** Commands by name and arguments, such as `top-up <account> <yuan>`. */
export type CommandRows = Readonly<Record<string, CommandRow>>;

/** A command, or a group of commands. */
export type CommandRow = {
  readonly alias?: string;
  readonly about: string;
  readonly with?: Options;
  /** Text that the help of the command shows after the options. */
  readonly help?: string;
  /** Subcommands. */
  readonly rows?: CommandRows;
  /** Checks the arguments before a database is opened. */
  readonly check?: (given: Given) => void;
} & (SendsRequest | ShowsList | Works | { readonly rows: CommandRows });

/** Options by their flags. Also arguments such as `<name>` whose description is not in `ARGUMENTS`. */
export type Options = Readonly<Record<string, string | Option>>;

interface Option {
  readonly text: string;
  readonly isRequired?: true;
  readonly default?: unknown;
  /** The only values that are accepted. */
  readonly choices?: readonly string[];
  readonly parse?: (text: string, before: never) => unknown;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A command that sends one request to the admin API and prints its response. */
interface SendsRequest {
  /** The request, such as `PATCH /accounts/:accountId`; `:name` is a member of `Given`. */
  readonly sends: `${Method} /${string}`;
  /** Members of `Given` that are sent as query parameters. */
  readonly query?: readonly string[];
  /**
   * Names of options and arguments that become members of the body, such as `name`, or `balanceYuan: balance` if the names differ; or a
   * function that returns the body. Members that are undefined are not sent.
   */
  readonly body?: readonly string[] | ((given: Given, process: CliProcess) => object);
  /** Text for a response without a body: what happened to the last resource in the path, such as `revoked`. */
  readonly done?: string;
  readonly text?: (response: never, given: Given) => string;
}

/** A command that prints a list of the admin API: `--limit` items if it has this option, otherwise all. */
interface ShowsList {
  /** Path of the list, such as `/accounts/:accountId/keys`. */
  readonly lists: `/${string}`;
  /** Members of `Given` that are sent as query parameters. */
  readonly filters?: readonly string[];
  /** Text that is printed instead of a table without rows. */
  readonly empty: string | ((given: Given) => string);
  readonly columns: readonly Column<never>[];
}

/** Runs a command. Resolves with the exit code; undefined means 0. */
type Work = Promise<number | undefined>;
export type AdminWork = (admin: AdminClient, output: Output, given: Given, process: CliProcess) => Work;
type LocalWork = (flags: GlobalFlags, output: Output, given: Given, process: CliProcess) => Work;

type Works =
  /** Prints a text about the whole program. */
  | { readonly describes: (program: Command, given: Given) => string }
  /** Reads by the admin API. The command prints on standard error which database it reads. */
  | { readonly reads: AdminWork }
  /** Changes something by the admin API. */
  | { readonly changes: AdminWork }
  /** Does not use the admin API. */
  | { readonly runs: LocalWork };

export const group = (name: string, about: string, rows: CommandRows): CommandRows => ({ [name]: { about, rows } });

/** The option `--limit`, for lists that show the newest rows. */
export const limitOf = (rows: number): Options => ({
  '--limit <count>': { text: 'maximum number of rows', default: String(rows) },
});

/** Adds commands to the program or to a group. `onEnd` gets the exit code of the command that ran. */
export function addCommands(
  parent: Command,
  rows: CommandRows,
  process: CliProcess,
  onEnd: (exitCode: number) => void,
): void {
  for (const [usage, row] of Object.entries(rows)) {
    const { alias, about, with: options = {}, help, rows: below = {} } = row;
    const [name, ...args] = usage.split(' ') as [string, ...string[]];
    const command = parent.command(name).description(about);
    if (alias !== undefined) command.alias(alias);
    for (const argument of args) {
      const { text, default: usual, choices } = optionOf(options[argument] ?? ARGUMENTS[argument.slice(1, -1)] ?? '');
      const added = command.createArgument(argument, text).default(usual);
      command.addArgument(choices === undefined ? added : added.choices(choices));
    }
    for (const [flags, given] of Object.entries(options).filter(([key]) => key.startsWith('-'))) {
      const { text, isRequired = false, default: usual, choices, parse } = optionOf(given);
      const option = command.createOption(flags, text).default(usual).makeOptionMandatory(isRequired);
      if (choices !== undefined) option.choices(choices);
      if (parse !== undefined) option.argParser(parse as (text: string, before: unknown) => unknown);
      command.addOption(option);
    }
    if (help !== undefined) command.addHelpText('after', help);
    addCommands(command, below, process, onEnd);
    const work = workOf(row, command);
    if (work === null) continue;
    command.action(async (...received) => {
      // Commander passes the arguments, the options and the command.
      const named = command.registeredArguments.map((argument, index) => [argument.name(), received[index]]);
      const given = { ...Object.fromEntries(named), ...command.opts() };
      row.check?.(given);
      const flags = command.optsWithGlobals<GlobalFlags>();
      try {
        const output = createOutput(flags.json === true, process.writeOut, process.columns);
        onEnd((await work(flags, output, given, process)) ?? 0);
      } catch (error) {
        throw error instanceof AdminClientError ? inOptionNames(error, null, given, namesOf(command)) : error;
      }
    });
  }
}

const optionOf = (given: string | Option): Option => (typeof given === 'string' ? { text: given } : given);

function workOf(row: CommandRow, command: Command): LocalWork | null {
  const names = () => namesOf(command);
  if ('sends' in row) return throughAdmin(row.sends.startsWith('GET') ? 'reads' : 'changes', sending(row), names);
  if ('lists' in row) return throughAdmin('reads', listing(row), names);
  if ('reads' in row) return throughAdmin('reads', row.reads, names);
  if ('changes' in row) return throughAdmin('changes', row.changes, names);
  if ('describes' in row) return describing(row.describes, command);
  return 'runs' in row ? row.runs : null;
}

function describing(describe: (program: Command, given: Given) => string, command: Command): LocalWork {
  let program = command;
  while (program.parent !== null) program = program.parent;
  return async (_flags, output, given) => {
    const text = describe(program, given);
    output.print({ text }, () => text);
    return undefined;
  };
}

function throughAdmin(use: AdminUse, work: AdminWork, names: () => OptionNames): LocalWork {
  return async (flags, output, given, process) => {
    // An invalid idempotency key is reported as wrong usage, even if there is no database.
    idempotencyKeyOf(given);
    const { withAdmin } = await import('./with-admin.ts');
    return withAdmin(flags, process, use, async (admin) => {
      const named = namingOptions(admin, given, names());
      return work(named, output, await withIds(named, given), process);
    });
  };
}

/** Wraps an admin API so that its errors name the options of the command. */
function namingOptions(admin: AdminClient, given: Given, names: OptionNames): AdminClient {
  return {
    ...admin,
    async request(method, path, body, idempotencyKey) {
      try {
        return await admin.request(method, path, body, idempotencyKey);
      } catch (error) {
        throw error instanceof AdminClientError ? inOptionNames(error, { path, body }, given, names) : error;
      }
    },
  };
}

function sending({ sends, query = [], body, done, text }: SendsRequest): AdminWork {
  const [method, path] = sends.split(' ') as [Method, string];
  const subject = [...path.matchAll(/:(\w+)/g)].at(-1)?.[1] ?? '';
  return async (admin, output, given, process) => {
    const search = String(new URLSearchParams(queryOf(given, query)));
    const sent = typeof body === 'function' ? body(given, process) : body && membersOf(body, given);
    const url = fill(path, given) + (search && `?${search}`);
    const response = await admin.request<never>(method, url, sent, idempotencyKeyOf(given));
    const id = given[subject];
    const said = (): string => text?.(response, given) ?? `${done![0]!.toUpperCase()}${done!.slice(1)} ${id}.`;
    output.print(done === undefined ? response : { id, [done]: true }, said);
  };
}

function listing({ lists, filters = [], empty, columns }: ShowsList): AdminWork {
  return async (admin, output, given) => {
    const [path, query] = [fill(lists, given), queryOf(given, filters)];
    const rows =
      given.limit === undefined
        ? await listAll<never>(admin, path, query)
        : await listUpTo<never>(admin, path, query, String(given.limit));
    // Imported here, because `faregate serve` needs no tables.
    const { renderTable } = await import('./table.ts');
    output.print(rows, () => renderTable(rows, typeof empty === 'string' ? empty : empty(given), columns));
  };
}

/** Splits a text such as `name` or `balanceYuan: balance` into the name of a body's member and that of a member of `Given`. */
export function memberNames(text: string): readonly [member: string, given: string] {
  const [member, given = member] = text.split(': ') as [string, string?];
  return [member, given];
}

function membersOf(body: readonly string[], given: Given): object {
  return Object.fromEntries(body.map(memberNames).map(([member, name]) => [member, given[name]]));
}

/** Replaces `:name` in a path by the given value. */
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
