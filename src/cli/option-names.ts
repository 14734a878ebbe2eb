import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { AdminClientError } from '../api/management/admin-client-error.ts';

/** Options and arguments of a command by their name in camel case: `amount` is `--amount`, `yuan` is `<yuan>`. */
export type OptionNames = ReadonlyMap<string, string>;

/** Returns how the command line spells the options and arguments of a command. */
export function namesOf(command: Command): OptionNames {
  return new Map([
    ...command.options.map((option) => [option.attributeName(), option.long ?? option.flags] as const),
    ...command.registeredArguments.map((argument) => [argument.name(), `<${argument.name()}>`] as const),
  ]);
}

/** A request to the admin API. */
interface Request {
  readonly path: string;
  readonly body?: object | undefined;
}

/**
 * Returns the error of a request in the words of the command line: `--amount: Expected …` instead of `amountYuan: Expected …`.
 *
 * @param request `null`: not known, so that only members and options of the same name match
 * @param given the values of the options and arguments
 */
export function inOptionNames(
  error: AdminClientError,
  request: Request | null,
  given: Readonly<Record<string, unknown>>,
  names: OptionNames,
): AdminClientError {
  const { message, param, status, code, details } = error;
  if (param === null || error.option !== null) return error;
  const option = optionOf(param, request === null ? {} : sentBy(request), given, names);
  if (option === null) return error;
  const reason = message.startsWith(`${param}: `) ? message.slice(param.length + 2) : message;
  // Options remove a limit with this word.
  const words = reason.replace(/\bor null for\b/, 'or "none" for');
  const options = { cause: error.cause, ...(status !== null && { status }), code, param, option, details };
  return new AdminClientError(`${option}: ${words}`, options);
}

/**
 * Finds the option or argument from which a member of a request has its value: the one with its name, without a unit such as `Yuan`, or
 * the one with the same value.
 *
 * @param param path of the member, such as `modelLimits.acme-large.requestsPerMinute`
 * @param sent members of the query and the body
 */
export function optionOf(
  param: string,
  sent: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>>,
  names: OptionNames,
): string | null {
  const path = param.split('.');
  const member = path[0]!;
  const value = sent[member];
  const sameName = membersWithoutUnit(member).find((name) => names.has(name));
  if (sameName !== undefined) return names.get(sameName)!;
  const sameValue = [...names.keys()].filter(
    (name) => given[name] !== undefined && hasValue(given[name], member, value),
  );
  const best = mostSimilar(member, sameValue);
  if (best !== null) return names.get(best)!;
  const last = path.length > 1 ? membersWithoutUnit(path.at(-1)!).find((name) => names.has(name)) : undefined;
  return last === undefined ? null : names.get(last)!;
}

/** Suffixes of members that options do not have. */
const UNITS = /(Yuan|Ids?|At|Seconds|s)$/;

const membersWithoutUnit = (member: string): string[] => [member, member.replace(UNITS, '')];

/** Whether a member has the value of an option, or a part of it: the parsed value of `--budget 5/day` has the member itself. */
function hasValue(given: unknown, member: string, sent: unknown): boolean {
  if (sent === undefined) return false;
  if (sent === null) return given === 'none' || given === 'default';
  if (typeof given !== 'object') return String(given) === String(sent);
  if (isDeepStrictEqual(given, sent)) return true;
  return given !== null && member in given && (given as Record<string, unknown>)[member] === sent;
}

/** Returns the name that has the longest beginning in common with the member; `null` if there is none, or several. */
function mostSimilar(member: string, names: readonly string[]): string | null {
  const common = (name: string): number => {
    const end = [...name].findIndex((letter, index) => letter !== member[index]);
    return end === -1 ? name.length : end;
  };
  const longest = Math.max(...names.map(common));
  const best = names.filter((name) => common(name) === longest);
  return best.length === 1 ? best[0]! : null;
}

function sentBy({ path, body }: Request): Record<string, unknown> {
  const search = path.split('?')[1];
  return { ...Object.fromEntries(new URLSearchParams(search ?? '')), ...body };
}
