import { invalidRequest } from '../../errors/gateway-error.ts';

/** The names in a text such as `model,day`. @throws GatewayError `invalidRequest` if one is not known. */
export function readGroupBy(text: string, known: readonly string[]): readonly string[] {
  const names = text === '' ? [] : text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw invalidRequest(
    `groupBy: There is no "${unknown.slice(0, 50)}". Known: ${known.join(', ')}, with commas.`,
    'groupBy',
  );
}
