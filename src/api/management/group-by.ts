import { invalidRequest } from '../../errors/gateway-error.ts';

/** Parses a list such as `model,day`. @throws GatewayError `invalidRequest` if a name is unknown */
export function readGroupBy(text: string, known: readonly string[]): readonly string[] {
  const names = text === '' ? [] : text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw invalidRequest(
    `groupBy: Unknown name "${unknown.slice(0, 50)}". Use a comma-separated list of ${known.join(', ')}.`,
    'groupBy',
  );
}
