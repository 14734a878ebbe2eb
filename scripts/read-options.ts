import { parseArgs } from 'node:util';

type Defaults = Readonly<Record<string, number | string | boolean>>;
type Given<Value> = Value extends number ? number : Value extends boolean ? boolean : string;

/** Parses command-line options, `--name VALUE` or `--name`. Each has the type of its default. */
export function readOptions<Values extends Defaults>(
  defaults: Values,
): { readonly [Name in keyof Values]: Given<Values[Name]> } {
  const types = Object.entries(defaults).map(([name, value]) => {
    return [name, { type: typeof value === 'boolean' ? 'boolean' : 'string' }] as const;
  });
  const { values } = parseArgs({ options: Object.fromEntries(types) });
  const given = Object.entries(defaults).map(([name, value]) => {
    return [name, typeof value === 'number' ? Number(values[name] ?? value) : (values[name] ?? value)];
  });
  return Object.fromEntries(given);
}
