import { invalidRequest } from '../../errors/gateway-error.ts';
import type { ChoiceName, ImageFamily } from './families.ts';
import type { ImageParameters } from './parameters.ts';
import { parseSize, sizeBreach } from './sizes.ts';

interface Breach {
  readonly param: keyof ImageParameters;
  readonly message: string;
}

/** Returns the parameters that a family does not support, in a fixed order. */
export function breachesOf(parameters: ImageParameters, family: ImageFamily): Breach[] {
  const breaches: Breach[] = [];
  if (isLongerThan(parameters.prompt, family.promptCharactersMax)) {
    const problem = `is longer than the ${family.promptCharactersMax} characters that ${family.name} accepts`;
    breaches.push(breach('prompt', problem));
  }
  for (const name of Object.keys(family.values) as ChoiceName[]) {
    const value = parameters[name];
    const taken = family.values[name];
    if (value === null || taken === null || taken.includes(value)) continue;
    const expected = `one of ${taken.join(', ')}`;
    breaches.push(taken.length === 0 ? unsupported(name, family) : notTaken(name, value, expected, family));
  }
  const { n, output_compression, partial_images, size, stream } = parameters;
  if (n !== null && n > family.imagesMax) breaches.push(notTaken('n', n, `at most ${family.imagesMax}`, family));
  if (size !== null) {
    const expected = expectedSize(size, family);
    if (expected !== null) breaches.push(notTaken('size', size, expected, family));
  }
  if (stream === true && !family.canStream) breaches.push(unsupported('stream', family));
  if (partial_images !== null && !family.canStream) breaches.push(unsupported('partial_images', family));
  if (output_compression !== null && !family.canCompress) breaches.push(unsupported('output_compression', family));
  return breaches;
}

/** Checks parameters. @throws GatewayError `invalidRequest` for the first one that the family does not support */
export function checkFamily(parameters: ImageParameters, family: ImageFamily | null): void {
  const first = family === null ? undefined : breachesOf(parameters, family)[0];
  if (first !== undefined) throw invalidRequest(first.message, first.param);
}

/** Returns the supported sizes as the end of an error message; `null` if the given size is supported. */
function expectedSize(text: string, { sizes }: ImageFamily): string | null {
  if (sizes === null || sizes.named.includes(text)) return null;
  const named = `one of ${sizes.named.join(', ')}`;
  if (sizes.limits === null) return named;
  const size = parseSize(text);
  if (size === null) return `${named}, or WIDTHxHEIGHT in pixels`;
  const problem = sizeBreach(size, sizes.limits);
  return problem === null ? null : `WIDTHxHEIGHT with ${problem}`;
}

/** Counts Unicode code points, but only if the length in UTF-16 does not decide. */
function isLongerThan(text: string, charactersMax: number): boolean {
  if (text.length <= charactersMax) return false;
  if (text.length > 2 * charactersMax) return true;
  let characters = 0;
  for (const _ of text) characters++;
  return characters > charactersMax;
}

function unsupported(name: keyof ImageParameters, family: ImageFamily): Breach {
  return breach(name, `is not supported by ${family.name}`);
}

function notTaken(
  name: keyof ImageParameters,
  value: string | number,
  expected: string,
  { name: family }: ImageFamily,
): Breach {
  return breach(name, `must be ${expected} for ${family}; received ${JSON.stringify(value)}`);
}

function breach(param: keyof ImageParameters, problem: string): Breach {
  return { param, message: `The parameter "${param}" ${problem}.` };
}
