import { Command, CommanderError } from 'commander';
import { AdminClientError } from '../api/management/admin-client-error.ts';
import { escapeLines } from '../lib/plain-text.ts';
import { programVersion } from '../lib/version.ts';
import type { CliProcess } from './command.ts';
import { addCommands } from './command-rows.ts';
import { neededCommands } from './commands/all.ts';
import { EXIT, EXIT_CODES_HELP, exitCodeOf } from './exit-code.ts';
import { describeFailure } from './failure.ts';
import { createOutput } from './output.ts';

/**
 * Runs the command line.
 *
 * @param argv arguments without the name of the program
 * @returns the exit code, one of `EXIT`
 */
export async function runCli(argv: readonly string[], process: CliProcess): Promise<number> {
  // This flag is read before the arguments are parsed, because errors of parsing must be JSON, too.
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
    .option(
      '--gateway <address>',
      'use the gateway at this address, with $FAREGATE_ADMIN_TOKEN, instead of the database',
    )
    .option('--json', 'print JSON instead of text, also for errors')
    .version(programVersion(), '-V, --version', 'print the version')
    .configureOutput({
      writeOut: process.writeOut,
      writeErr: (text) => (isJson ? undefined : process.writeError(text)),
    })
    .exitOverride()
    .showHelpAfterError('(faregate --help lists the commands)')
    .addHelpText('after', HELP);

  let exitCode: number = EXIT.done;
  for (const load of neededCommands(argv)) {
    addCommands(program, await load(), process, (code) => {
      exitCode = code;
    });
  }

  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === EXIT.done) return code;
    if (isJson) createOutput(true, process.writeOut).print({ error: toJson(error) }, String);
    // Commander has printed its own errors already.
    else if (!(error instanceof CommanderError)) process.writeError(`${escapeLines(describeFailure(error))}\n`);
    return code;
  }
}

/**
 * Returns an error as `--json` prints it instead of the result, with the code and parameter that the admin API reported, and the option of
 * the command line for this parameter.
 */
function toJson(error: unknown): {
  message: string;
  code?: string;
  param?: string;
  option?: string;
  details?: readonly string[];
} {
  if (error instanceof AdminClientError) {
    const { message, code, param, option, details } = error;
    return {
      message,
      ...(code !== null && { code }),
      ...(param !== null && { param }),
      ...(option !== null && { option }),
      ...(details.length > 0 && { details }),
    };
  }
  if (error instanceof CommanderError) return { message: error.message.replace(/^error: /, '') };
  return { message: describeFailure(error) };
}

const HELP = `
Getting started:
  faregate serve                                   a demo on http://127.0.0.1:8080, nothing to set up
  faregate init                                    write a commented faregate.yaml
  faregate check                                   report its problems with file, line and key
  faregate serve --config faregate.yaml            serve it
  faregate doctor                                  check database, disk, clock, address and providers

People and money, with or without a running gateway:
  faregate db migrate                              create the database if no gateway has done so yet
  faregate account create alice --verified --balance 50
  faregate key create alice
  faregate account top-up alice 20
  faregate account import people.csv               create many accounts, with balances, plans and keys
  faregate account suspend alice --reason "invoice 7"  refuse its calls; resume accepts them again
  faregate user create lin --email lin@example.com --operator   print a link for the first sign-in
  faregate account member add alice lin@example.com --role owner
  faregate key find sk-fg-Ab12                     find the owner of a key
  faregate plan show alice                         what remains of its plan
  faregate calls --account alice
  faregate calls --status in_flight                calls in flight on all nodes
  faregate calls refund call_01… --amount 0.10
  faregate usage --group-by model --from 2026-11-01
  faregate statement --account alice --month 2026-10
  faregate token create grafana --role auditor     for a program that reads the admin API or /metrics
  faregate changes --account alice                 list who changed the account, and how
  faregate audit

Backups, and the move to PostgreSQL:
  faregate db backup copy.gz                       the local database, also while the gateway serves
  DATABASE_URL=postgres://… faregate db import copy.gz   into an empty database

Environment:
  FAREGATE_CONFIG       the configuration file
  FAREGATE_DATA_DIR     where the local database is
  FAREGATE_DEMO_DATA    none: a new demo has no calls of the past month (default: month)
  FAREGATE_ADMIN_TOKEN  the credential of the admin API, 16 characters at least; with --gateway also a named token
  FAREGATE_SECRETS_KEY  the key of sealed secrets, 32 random bytes in base64; several, separated by commas: the first seals
  FAREGATE_SECRETS_KEY_FILE  a file with the keys instead, one a line
  DATABASE_URL          a PostgreSQL server in place of the local database: postgres://…
  HOST, PORT            where to listen; port 0 picks a free one
  FAREGATE_WORKERS      number of processes that serve, or auto: one per core (default: 1)
  LOG_LEVEL             error, warn, info (default), debug

Flags take precedence over the environment, and the environment over the file.

${EXIT_CODES_HELP}

Times are in the time zone of this machine (TZ), with --json in UTC.`;
