import type { Argument, Command, Option } from 'commander';

/** A word that can be completed, with a description of one line. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** What can follow an option, or stand for an argument: one of some words, or the path of a file. */
export type Values = readonly string[] | 'files';

/** What can be completed after the words of a command. */
export interface CompletedCommand {
  /** Words of the command, such as `account member add`; empty for the program itself. */
  readonly path: string;
  readonly subcommands: readonly Candidate[];
  readonly options: readonly Candidate[];
  /** Values by option, such as `--role`, or by the position of an argument, such as `#0`. */
  readonly values: ReadonlyMap<string, Values>;
}

export interface CommandTree {
  readonly commands: readonly CompletedCommand[];
  /** Options of all commands that are followed by a value. */
  readonly valued: readonly string[];
}

/** Lists the commands, options and values of a program. Options of a command include those of the commands above it. */
export function commandTree(program: Command): CommandTree {
  const commands = completedCommands(program, '', [HELP], new Map());
  const valued = new Set(allCommands(program).flatMap((command) => command.options.filter(isValued).flatMap(flagsOf)));
  return { commands, valued: [...valued] };
}

const HELP: Candidate = { word: '--help', about: 'display help for command' };

function completedCommands(
  command: Command,
  path: string,
  optionsAbove: readonly Candidate[],
  valuesAbove: ReadonlyMap<string, Values>,
): CompletedCommand[] {
  const options = [...command.options.map(optionCandidate), ...optionsAbove];
  const ofOptions = new Map([...valuesAbove, ...command.options.flatMap(optionValues)]);
  const values = new Map([...ofOptions, ...command.registeredArguments.flatMap(argumentValues)]);
  const names = command.commands.flatMap((each) => [each.name(), ...each.aliases()].map((name) => ({ name, each })));
  const subcommands = names.map(({ name, each }) => ({ word: name, about: oneLine(each.description()) }));
  return [
    { path, subcommands, options, values },
    ...names.flatMap(({ name, each }) => completedCommands(each, `${path} ${name}`.trim(), options, ofOptions)),
  ];
}

const allCommands = (command: Command): Command[] => [command, ...command.commands.flatMap(allCommands)];

const isValued = (option: Option): boolean => option.required || option.optional;

const flagsOf = ({ long, short }: Option): string[] => [long, short].filter((flag) => typeof flag === 'string');

/** An option is completed in its long form. */
const optionCandidate = (option: Option): Candidate => ({
  word: flagsOf(option)[0]!,
  about: oneLine(option.description),
});

function optionValues(option: Option): (readonly [string, Values])[] {
  const values = option.argChoices ?? (/<(file|path|directory)>/.test(option.flags) ? 'files' : null);
  return values === null ? [] : flagsOf(option).map((flag) => [flag, values] as const);
}

function argumentValues(argument: Argument, index: number): (readonly [string, Values])[] {
  const values = argument.argChoices ?? (argument.name() === 'file' ? 'files' : null);
  return values === null ? [] : [[`#${index}`, values]];
}

const ABOUT_MAX = 80;

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= ABOUT_MAX ? line : `${line.slice(0, ABOUT_MAX - 1).trimEnd()}…`;
}
