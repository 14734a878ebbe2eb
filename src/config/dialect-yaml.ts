import type { DialectConfig } from './dialect-schema.ts';

/** A dialect as one line of a configuration file, such as `dialect: { reasoning: thinking }`. Empty if it has no keys. */
export function dialectYaml(dialect: DialectConfig): string {
  const keys = Object.entries(dialect).map(
    ([key, value]) => `${key}: ${Array.isArray(value) ? `[${value.join(', ')}]` : value}`,
  );
  return keys.length === 0 ? '' : `dialect: { ${keys.join(', ')} }`;
}
