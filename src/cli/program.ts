import { Command, CommanderError } from 'commander';
import { AdminClientError } from '../api/management/admin-client-error.ts';
import { escapeLines } from '../lib/plain-text.ts';
import { programVersion } from '../lib/version.ts';
import {
  type Action,
  type AdminWork,
  type CliProcess,
  type CommandKit,
  type GlobalFlags,
  UsageError,
} from './command.ts';
import { neededCommands } from './commands/all.ts';
import { describeFailure } from './failure.ts';
import { createOutput } from './output.ts';
import type { AdminUse } from './with-admin.ts';

/**
 * Runs the command line.
 *
 * @param argv arguments without the program's own name
 * @returns the exit code: 0, 1 where the command failed or found something wrong, 2 if it was used wrongly
 */
export async function runCli(argv: readonly string[], process: CliProcess): Promise<number> {
  let exitCode = 0;
  // Errors of the arguments themselves have to be JSON too, so the flag is looked for before they are parsed.
  const isJson = argv.includes('--json');
  const program = new Command('faregate')
    .description(
      'A metered gateway in front of model providers. Without a configuration file, "faregate serve" runs a demo.',
    )
    .option('-c, --config <file>', 'the configuration (default: $FAREGATE_CONFIG, ./faregate.yaml, or the demo)')
    .option(
      '--data-dir <directory>',
      'where the local database is (default: $FAREGATE_DATA_DIR or ./data; ./data/demo for the demo)',
    )
    .option('--gateway <address>', 'ask the gateway there, with $FAREGATE_ADMIN_TOKEN, instead of the database')
    .option('--json', 'print JSON instead of text, errors too')
    .version(programVersion(), '-V, --version', 'print the version')
    .configureOutput({
      writeOut: process.writeOut,
      writeErr: (text) => (isJson ? undefined : process.writeError(text)),
    })
    .exitOverride()
    .showHelpAfterError('(faregate --help lists the commands)')
    .addHelpText('after', HELP);

  const kit: CommandKit = {
    process,
    reading: (work) => throughAdmin('reads', work),
    changing: (work) => throughAdmin('changes', work),
    plain:
      (work) =>
      async (...received) => {
        // Commander passes the arguments, then the command's own options, then the command.
        const command = received.at(-1) as Command;
        const flags = command.optsWithGlobals<GlobalFlags>();
        const output = createOutput(flags.json === true, process.writeOut);
        const given = received.slice(0, -2).map((argument) => (argument === undefined ? '' : String(argument)));
        exitCode = (await work(flags, output, process.environment, given, command.opts())) ?? 0;
      },
  };
  const throughAdmin = (use: AdminUse, work: AdminWork): Action =>
    kit.plain(async (flags, output, _environment, given, options) => {
      const { withAdmin } = await import('./with-admin.ts');
      return withAdmin(flags, process, use, (admin) => work(admin, output, given, options));
    });
  for (const { load } of neededCommands(argv)) (await load())(program, kit);

  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.exitCode === 0;
    if (isHelp) return 0;
    const isUsage = error instanceof CommanderError || error instanceof UsageError;
    if (isJson) createOutput(true, process.writeOut).print({ error: toJson(error) }, String);
    // Commander has printed its own already.
    else if (!(error instanceof CommanderError)) process.writeError(`${escapeLines(describeFailure(error))}\n`);
    return isUsage ? USAGE_ERROR : FAILURE;
  }
}

const FAILURE = 1;
const USAGE_ERROR = 2;

/** An error as `--json` prints it, in place of the result: its message, and what the admin API says of it. */
function toJson(error: unknown): { message: string; code?: string; param?: string } {
  if (error instanceof AdminClientError) {
    const { message, code, param } = error;
    return { message, ...(code !== null && { code }), ...(param !== null && { param }) };
  }
  if (error instanceof CommanderError) return { message: error.message.replace(/^error: /, '') };
  return { message: describeFailure(error) };
}

const HELP = `
Getting started:
  faregate serve                                   a demo on http://127.0.0.1:8080, nothing to set up
  faregate init                                    write a commented faregate.yaml
  faregate check                                   say what is wrong with it, with file, line and key
  faregate serve --config faregate.yaml            serve it
  faregate doctor                                  look at database, disk, clock, address and providers

People and money, beside a gateway that runs or without one:
  faregate db migrate                              create the database if no gateway has done so yet
  faregate account create alice --verified --balance 50
  faregate key create alice
  faregate account top-up alice 20
  faregate account import people.csv               many at once, with balances, plans and keys
  faregate account suspend alice --reason "invoice 7"  refuse its calls from now on; resume takes them again
  faregate user create lin --email lin@example.com --operator   print a link to sign in for the first time
  faregate account member add alice lin@example.com --role owner
  faregate key find sk-fg-Ab12                     whose key is this?
  faregate plan show alice                         what remains of its plan
  faregate calls --account alice
  faregate calls --status in_flight                what runs now, over all nodes
  faregate calls refund call_01… --amount 0.10
  faregate usage --group-by model --from 2026-11-01
  faregate statement --account alice --month 2026-10
  faregate token create grafana --role auditor     for a program that reads the admin API or /metrics
  faregate changes --account alice                 who changed it?
  faregate audit

Backups, and the way to PostgreSQL:
  faregate db backup copy.gz                       all of the local database, also while the gateway serves
  DATABASE_URL=postgres://… faregate db import copy.gz   into an empty database

Environment:
  FAREGATE_CONFIG       the configuration file
  FAREGATE_DATA_DIR     where the local database is
  FAREGATE_DEMO_DATA    none: a new demo has no calls of the past month (default: month)
  FAREGATE_ADMIN_TOKEN  the credential of the admin API, 16 characters at least; with --gateway also a named token
  DATABASE_URL          postgres://… instead of the local database
  HOST, PORT            where to listen; port 0 picks a free one
  FAREGATE_WORKERS      how many processes serve, or auto: one a core (default: 1); more than one need PostgreSQL
  LOG_LEVEL             error, warn, info (default), debug

A flag beats the environment, the environment beats the file.

Exit codes: 0, 1 if a command failed or found something wrong, 2 if it was used wrongly.
Times are those of this machine's time zone (TZ); --json has them in UTC.`;
