import { foldedName } from '../lib/folded-name.ts';
import { isRecord, parseJson } from '../lib/json/json.ts';
import { PARAMETER_ACTIONS, type ParameterAction, parameterBreach } from '../protocols/parameters/parameter-names.ts';
import type { Path } from './document.ts';
import { isParameterPath } from './parameters-schema.ts';

interface Breach {
  readonly path: Path;
  readonly message: string;
}

interface Entry {
  readonly action: ParameterAction;
  readonly name: string;
  readonly value: unknown;
  readonly path: Path;
}

/** Checks that parameters change no member that decides what a call contains or costs, and that no two of them concern one member. */
export function parameterBreaches(root: Path, given: unknown): Breach[] {
  if (!isRecord(given)) return [];
  const entries = PARAMETER_ACTIONS.flatMap((action): Entry[] => {
    const actions = given[action];
    if (Array.isArray(actions)) {
      return actions.flatMap((name: unknown, index) =>
        typeof name === 'string' ? [{ action, name, value: null, path: [...root, action, index] }] : [],
      );
    }
    if (!isRecord(actions)) return [];
    return Object.entries(actions).map(([name, value]) => ({ action, name, value, path: [...root, action, name] }));
  });
  return entries.flatMap((entry, index): Breach[] => {
    const message = breachOf(entry) ?? conflictOf(entry, entries.slice(0, index));
    return message === null ? [] : [{ path: entry.path, message }];
  });
}

function breachOf({ action, name, value }: Entry): string | null {
  if (!isParameterPath(name))
    return 'Expected the name of a field such as temperature, or a path such as reasoning.effort.';
  const last = name.slice(name.lastIndexOf('.') + 1);
  const isLimit = parameterBreach(last, 'max') === null && parameterBreach(last, 'set') !== null;
  if (isLimit && action !== 'remove' && !/^[1-9]\d{0,14}$/.test(String(value)))
    return 'Expected a whole number of tokens above zero.';
  if (last === 'store' && action !== 'remove' && String(value) !== 'true' && String(value) !== 'false')
    return 'Expected true or false.';
  for (const each of [...name.split('.'), ...namesIn(value)]) {
    const breach = parameterBreach(each, action);
    if (breach !== null) return `"${each}" cannot be changed here. ${breach}`;
  }
  return null;
}

/** Names of members at any depth of a value. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const parsed = parseJson(value);
    return typeof parsed === 'object' ? namesIn(parsed) : [];
  }
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return isRecord(value) ? Object.entries(value).flatMap(([name, member]) => [name, ...namesIn(member)]) : [];
}

/** A `default` may have a `max`; any other two parameters of one member would contradict each other. */
function conflictOf(entry: Entry, earlier: readonly Entry[]): string | null {
  const { action, name } = entry;
  const folded = name.split('.').map(foldedName);
  const other = earlier.find((each) => {
    const path = each.name.split('.').map(foldedName);
    if (each.action === 'default' && action === 'max' && path.length === folded.length) return false;
    return path.slice(0, folded.length).every((part, index) => part === folded[index]);
  });
  if (other === undefined) return exceedsMax(entry, earlier) ? 'It is less than "default" of the same field.' : null;
  return `It conflicts with "${other.action}" of "${other.name}".`;
}

/** Whether the `default` of a field is greater than its `max`. */
function exceedsMax({ action, name, value }: Entry, earlier: readonly Entry[]): boolean {
  if (action !== 'max') return false;
  const given = earlier.find((each) => each.action === 'default' && foldedName(each.name) === foldedName(name));
  return given !== undefined && Number(given.value) > Number(value);
}
