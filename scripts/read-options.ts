import { parseArgs } from 'node:util';

type Usual = Readonly<Record<string, number | string | boolean>>;
type Given<Value> = Value extends number ? number : Value extends boolean ? boolean : string;

/** Reads the options of this process, `--name VALUE` or `--name`: each is of the type of what it is if it is not given. */
export function readOptions<Values extends Usual>(
  usual: Values,
): { readonly [Name in keyof Values]: Given<Values[Name]> } {
  const types = Object.entries(usual).map(([name, value]) => {
    return [name, { type: typeof value === 'boolean' ? 'boolean' : 'string' }] as const;
  });
  const { values } = parseArgs({ options: Object.fromEntries(types) });
  const given = Object.entries(usual).map(([name, value]) => {
    return [name, typeof value === 'number' ? Number(values[name] ?? value) : (values[name] ?? value)];
  });
  return Object.fromEntries(given);
}
