/** Looks up an untrusted name, such as part of an address. Inherited properties are `undefined`. */
export function ownValue<Value>(values: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
