/** The value of a name that comes from outside, such as a part of an address; `undefined` also for what every object inherits. */
export function ownValue<Value>(values: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
