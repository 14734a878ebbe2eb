import { isUtf8 } from 'node:buffer';
import { invalidRequest } from '../../errors/gateway-error.ts';

/** Parameters of image calls by their names in requests (contract 4.5, 4.6). `null`: absent, or not a parameter of this endpoint. */
export interface ImageParameters {
  readonly prompt: string;
  readonly model: string | null;
  readonly background: string | null;
  readonly input_fidelity: string | null;
  readonly moderation: string | null;
  readonly n: number | null;
  readonly output_compression: number | null;
  readonly output_format: string | null;
  readonly partial_images: number | null;
  readonly quality: string | null;
  readonly response_format: string | null;
  readonly size: string | null;
  readonly stream: boolean | null;
  readonly style: string | null;
  readonly user: string | null;
}

type ParameterName = Exclude<keyof ImageParameters, 'prompt'>;

type Value = string | number | boolean | null;

type Rule =
  | { readonly kind: 'text'; readonly charactersMin: number; readonly charactersMax: number }
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | { readonly kind: 'whole'; readonly min: number; readonly max: number }
  | { readonly kind: 'boolean' };

type ParameterTable = Readonly<Partial<Record<ParameterName, Rule>>>;

const common = {
  model: { kind: 'text', charactersMin: 1, charactersMax: Number.MAX_SAFE_INTEGER },
  background: { kind: 'choice', values: ['transparent', 'opaque', 'auto'] },
  n: { kind: 'whole', min: 1, max: 10 },
  output_compression: { kind: 'whole', min: 0, max: 100 },
  partial_images: { kind: 'whole', min: 0, max: 3 },
  response_format: { kind: 'choice', values: ['url', 'b64_json'] },
  // Names such as "2K" or "1024*1024" are allowed for some models. The length is limited, because call records contain the size.
  size: { kind: 'text', charactersMin: 1, charactersMax: 32 },
  stream: { kind: 'boolean' },
  user: { kind: 'text', charactersMin: 0, charactersMax: Number.MAX_SAFE_INTEGER },
} satisfies ParameterTable;

/** Parameters of generations (contract 4.5), with newer values that the vendor documents. */
export const generationParameters: ParameterTable = {
  ...common,
  moderation: { kind: 'choice', values: ['low', 'auto'] },
  output_format: { kind: 'choice', values: ['png', 'jpeg', 'webp', 'gif', 'svg'] },
  quality: { kind: 'choice', values: ['standard', 'hd', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'] },
  style: { kind: 'choice', values: ['vivid', 'natural'] },
};

/** Parameters of edits (contract 4.6). SVG images cannot be edited, and neither can the only model with the quality `hd`. */
export const editParameters: ParameterTable = {
  ...common,
  input_fidelity: { kind: 'choice', values: ['high', 'low'] },
  output_format: { kind: 'choice', values: ['png', 'jpeg', 'webp', 'gif'] },
  quality: { kind: 'choice', values: ['standard', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'] },
};

/** Reads parameters of a JSON body. @throws GatewayError `invalidRequest` with the invalid parameter */
export function readJsonParameters(table: ParameterTable, get: (name: string) => unknown): ImageParameters {
  const prompt = get('prompt') ?? null;
  if (prompt === null) throw missing('prompt');
  if (typeof prompt !== 'string') throw wrong('prompt', 'be a string', prompt);
  if (prompt === '') throw empty('prompt');
  const parameters = readTable(table, prompt, (name, rule) => {
    const value = get(name) ?? null;
    return value === null ? null : readJsonValue(name, rule, value);
  });
  checkTogether(parameters);
  return parameters;
}

function readJsonValue(name: string, rule: Rule, value: unknown): Value {
  switch (rule.kind) {
    case 'boolean':
      if (typeof value !== 'boolean') throw wrong(name, 'be a boolean', value);
      return value;
    case 'whole':
      if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong(name, wholeNumber(rule), value);
      return inRange(name, rule, value);
    case 'text':
    case 'choice':
      if (typeof value !== 'string') throw wrong(name, 'be a string', value);
      return readText(name, rule, value);
  }
}

/** Reads parameters of a form. Empty parts are invalid, because forms have no null (contract 4.6). @throws GatewayError `invalidRequest` */
export function readFormParameters(table: ParameterTable, parts: ReadonlyMap<string, Buffer>): ImageParameters {
  const prompt = parts.get('prompt');
  if (prompt === undefined) throw missing('prompt');
  const promptText = decode('prompt', prompt);
  if (promptText.trim() === '') throw invalidRequest('The parameter "prompt" must not be blank.', 'prompt');
  const parameters = readTable(table, promptText, (name, rule) => {
    const part = parts.get(name);
    return part === undefined ? null : readFormValue(name, rule, decode(name, part));
  });
  checkTogether(parameters);
  return parameters;
}

/** A decimal number without leading zeros, because some parsers read these as octal. */
const DECIMAL = /^(?:0|[1-9][0-9]{0,14})$/;

function readFormValue(name: string, rule: Rule, text: string): Value {
  if (text === '') throw empty(name);
  if (text.trim() !== text) {
    throw invalidRequest(`The parameter "${name}" must not begin or end with white space.`, name);
  }
  switch (rule.kind) {
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw wrong(name, 'be true or false', text);
      return text === 'true';
    case 'whole':
      if (!DECIMAL.test(text)) throw wrong(name, wholeNumber(rule), text);
      return inRange(name, rule, Number(text));
    case 'text':
    case 'choice':
      return readText(name, rule, text);
  }
}

function decode(name: string, bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalidRequest(`The parameter "${name}" is not valid UTF-8.`, name);
  return bytes.toString('utf8');
}

function readTable(
  table: ParameterTable,
  prompt: string,
  read: (name: ParameterName, rule: Rule) => Value,
): ImageParameters {
  const names = Object.keys(table) as ParameterName[];
  const values = Object.fromEntries(names.map((name) => [name, read(name, table[name]!)]));
  // The table determines the types of the values; a test compares them with the interface.
  return { ...noParameters, ...values, prompt } as ImageParameters;
}

const noParameters: Omit<ImageParameters, 'prompt'> = {
  model: null,
  background: null,
  input_fidelity: null,
  moderation: null,
  n: null,
  output_compression: null,
  output_format: null,
  partial_images: null,
  quality: null,
  response_format: null,
  size: null,
  stream: null,
  style: null,
  user: null,
};

function readText(name: string, rule: Extract<Rule, { kind: 'text' | 'choice' }>, text: string): string {
  if (rule.kind === 'choice') {
    if (!rule.values.includes(text)) throw wrong(name, `be one of ${rule.values.join(', ')}`, text);
    return text;
  }
  if (text.length < rule.charactersMin) throw empty(name);
  // Servers differ in how they read an unpaired surrogate: Python keeps it, Go replaces it with U+FFFD.
  if (!text.isWellFormed()) throw wrong(name, 'consist of complete Unicode characters', text);
  if (text.length > rule.charactersMax) throw wrong(name, `not exceed ${rule.charactersMax} characters`, text);
  return text;
}

function inRange(name: string, rule: Extract<Rule, { kind: 'whole' }>, value: number): number {
  if (value < rule.min || value > rule.max) throw wrong(name, wholeNumber(rule), value);
  return value;
}

function wholeNumber({ min, max }: Extract<Rule, { kind: 'whole' }>): string {
  return `be a whole number from ${min} to ${max}`;
}

/** Checks parameters that depend on each other. The output format is PNG if none is given. */
function checkTogether(parameters: ImageParameters): void {
  const { background, output_compression, output_format, partial_images, stream } = parameters;
  if (partial_images !== null && stream !== true) {
    throw invalidRequest('The parameter "partial_images" requires "stream" to be true.', 'partial_images');
  }
  if (output_compression !== null && output_format !== 'jpeg' && output_format !== 'webp') {
    throw invalidRequest(
      'The parameter "output_compression" requires "output_format" jpeg or webp.',
      'output_compression',
    );
  }
  if (background === 'transparent' && !['png', 'webp', null].includes(output_format)) {
    throw invalidRequest('A transparent "background" requires "output_format" png or webp.', 'background');
  }
}

function missing(name: string): Error {
  return invalidRequest(`The parameter "${name}" is required.`, name);
}

function empty(name: string): Error {
  return invalidRequest(`The parameter "${name}" must not be empty.`, name);
}

function wrong(name: string, expected: string, value: unknown): Error {
  return invalidRequest(`The parameter "${name}" must ${expected}; received ${describe(value)}.`, name);
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}
