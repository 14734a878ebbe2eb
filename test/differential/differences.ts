import { AssertionError } from 'node:assert';
import { GatewayError } from '../../src/errors/gateway-error.ts';
import { multipartBoundary } from '../../src/lib/multipart.ts';
import { type EditForm, readEdit } from '../../src/protocols/image-rules/edit.ts';
import type { ImageParameters } from '../../src/protocols/image-rules/parameters.ts';
import { type JsonOperationName, jsonOperationOf } from '../../src/protocols/operations/all.ts';
import { EditFormReader } from '../../src/protocols/operations/edit-form.ts';
import { imageEdit } from '../../src/protocols/operations/image-edit.ts';
import type { CallInput, RequestFacts, StoredBody, StoredUpload } from '../../src/protocols/operations/operation.ts';
import { REQUEST_TABLES } from '../support/request-tables.ts';
import type { FormCase } from './forms.ts';
import type { JsonCase } from './json-bodies.ts';
import { namedIn } from './named-state.ts';
import type { BodyReader, Reading } from './readers.ts';

/**
 * The property: for everything that the gateway relays, every parser that accepts it reads the same as the gateway did. The bytes compared
 * are those sent to the provider, after the gateway's changes.
 */

/** The provider's name of the model, which the gateway inserts if it differs from the caller's. */
const UPSTREAM_MODEL = 'upstream-model';

/** The result of a case. */
export interface Outcome {
  readonly isRelayed: boolean;
  /** Parsers that rejected what the gateway relayed. */
  readonly refusals: number;
}

const REFUSED: Outcome = { isRelayed: false, refusals: 0 };

/** A value as text, in a form that does not depend on the language. */
function stated(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (typeof value === 'number') return `number ${value + 0}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  if ('number' in value) return `number ${Number(value.number) + 0}`;
  return 'object or array';
}

/** Like the above, but treats all texts with an unpaired surrogate as equal: they are neither numbers nor existing ids. */
function statedWhole(value: unknown): string {
  return typeof value === 'string' && !/^[ -~]*$/.test(value) ? 'a text' : stated(value);
}

/** Fields that the gateway reads but does not expose. The parsers must agree with each other. */
const AGREED: Readonly<Partial<Record<JsonOperationName, readonly string[]>>> = {
  chat: ['n', 'best_of', 'max_tokens', 'max_completion_tokens', 'conversation'],
  messages: ['max_tokens', 'thread', 'container'],
  responses: ['max_output_tokens', 'previous_response_id', 'conversation'],
  compact: ['previous_response_id', 'conversation'],
};

const LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];

/** Fields in which every parser must agree with the gateway. */
function expectedFields(kind: JsonOperationName, facts: RequestFacts): Record<string, unknown> {
  const { details } = facts;
  switch (kind) {
    case 'chat':
      return { stream: facts.isStream, ...(facts.isStream ? { include_usage: true } : {}) };
    case 'messages':
      return { stream: facts.isStream };
    case 'responses':
      return { stream: facts.isStream, background: false };
    case 'images.generate': {
      const { n, size, quality, partial_images } = details as ImageParameters;
      return { stream: facts.isStream, n, size, quality, partial_images };
    }
    default:
      return {};
  }
}

export async function compareJson({ kind, body }: JsonCase, readers: readonly BodyReader[]): Promise<Outcome> {
  const operation = jsonOperationOf(kind);
  let facts: RequestFacts;
  let input: CallInput;
  try {
    facts = operation.read(body);
    input = operation.toInput(facts, body);
  } catch (error) {
    if (error instanceof GatewayError) return REFUSED;
    throw error;
  }
  const expected = expectedFields(kind, facts);
  let refusals = 0;
  // With the provider's name, and with the caller's name if there is one, in which case the bytes are unchanged.
  for (const model of new Set([UPSTREAM_MODEL, facts.model ?? UPSTREAM_MODEL])) {
    const sent = input.toProvider(model) as Buffer;
    const readings = (await Promise.all(readers.map((reader) => reader.readJson(sent)))).flat();
    const wantedFields: Record<string, unknown> = { model, ...expected };
    const first = readings.find(({ fields }) => fields !== undefined);
    for (const reading of readings) {
      if (reading.fields === undefined) {
        refusals++;
        continue;
      }
      for (const name of AGREED[kind] ?? []) {
        const [found, wanted] = [reading.fields[name], first!.fields![name]].map(statedWhole);
        if (found !== wanted) throw different(reading, name, found!, wanted!, sent);
      }
      for (const [name, value] of Object.entries(wantedFields)) {
        const found = stated(reading.fields[name]);
        // A missing flag is off.
        const wanted = value === false && found === 'nothing' ? 'nothing' : stated(value);
        if (found !== wanted) throw different(reading, name, found, wanted, sent);
      }
      compareDemand(kind, facts, reading, sent);
    }
  }
  return { isRelayed: true, refusals };
}

/** Every reference that another parser finds by the tables must also be found by the gateway. */
export async function compareNamed({ kind, body }: JsonCase, readers: readonly BodyReader[]): Promise<Outcome> {
  const operation = jsonOperationOf(kind);
  let facts: RequestFacts;
  try {
    facts = operation.read(body);
  } catch (error) {
    if (error instanceof GatewayError) return REFUSED;
    throw error;
  }
  // What the gateway refuses unless a provider allows it.
  if (facts.unlisted.length > 0) return REFUSED;
  const found = {
    ids: new Set(facts.references.map(({ id }) => wholeText(id))),
    models: new Set(
      [facts.model, ...facts.demand.innerModels.map(({ name }) => name)].map((name) => wholeText(`${name}`)),
    ),
    unlisted: new Set<string>(),
  };
  const readings = (await Promise.all(readers.map((reader) => reader.readValue(body)))).flat();
  let refusals = 0;
  for (const reading of readings) {
    if (reading.fields === undefined) {
      refusals++;
      continue;
    }
    const named = namedIn(reading.fields.value, REQUEST_TABLES[kind]);
    for (const what of ['ids', 'models', 'unlisted'] as const) {
      for (const text of named[what]) {
        if (!found[what].has(wholeText(text))) throw different(reading, what, text, [...found[what]].join(', '), body);
      }
    }
  }
  return { isRelayed: true, refusals };
}

/** Parsers differ in how they treat unpaired surrogates. */
function wholeText(text: string): string {
  return text.replace(/[^ -~]+/g, '?');
}

/** No parser may find more choices or a greater limit than the gateway reserves. */
function compareDemand(kind: JsonOperationName, facts: RequestFacts, reading: Reading, sent: Buffer): void {
  const read =
    kind === 'chat' ? LIMITS : kind === 'messages' ? ['max_tokens'] : kind === 'responses' ? LIMITS.slice(2) : [];
  const atMost = (name: string, most: number): void => {
    const found = stated(reading.fields![name]);
    const [, number = '0'] = /^number (.*)$/.exec(found) ?? [];
    if (Math.min(Number(number), Number.MAX_SAFE_INTEGER) > most)
      throw different(reading, name, found, `at most ${most}`, sent);
  };
  for (const name of read) atMost(name, facts.demand.outputTokensLimit ?? 0);
  if (kind === 'chat') for (const name of ['n', 'best_of']) atMost(name, facts.choices);
}

const FORM_FIELDS = [
  ...['prompt', 'model', 'n', 'size', 'quality', 'stream', 'partial_images', 'output_format', 'output_compression'],
  ...['response_format', 'background', 'input_fidelity', 'user'],
];

export async function compareForm({ contentType, body }: FormCase, readers: readonly BodyReader[]): Promise<Outcome> {
  let input: CallInput;
  let form: EditForm;
  try {
    const upload = imageEdit.receive(contentType);
    upload.push(body);
    input = upload.finish(stored(body));
    const reader = new EditFormReader(multipartBoundary(contentType)!);
    reader.push(body);
    form = reader.finish().form;
    readEdit(form);
  } catch (error) {
    if (error instanceof GatewayError) return REFUSED;
    throw error;
  }
  const texts = new Map([...form.texts].map(([name, bytes]) => [name, bytes.toString('utf8')]));
  let refusals = 0;
  for (const model of new Set([UPSTREAM_MODEL, input.model!])) {
    const sent = await bytesOf(input.toProvider(model) as StoredBody);
    const readings = (await Promise.all(readers.map((reader) => reader.readForm(input.contentType, sent)))).flat();
    for (const reading of readings) {
      if (reading.fields === undefined) {
        refusals++;
        continue;
      }
      for (const name of FORM_FIELDS) {
        const text = name === 'model' ? model : texts.get(name);
        const wanted = JSON.stringify(text === undefined ? [] : [text]);
        const found = JSON.stringify(reading.fields[name] ?? []);
        if (found !== wanted) throw different(reading, name, found, wanted, sent);
        const asFile = reading.fields[`file:${name}`];
        if (asFile !== undefined) throw different(reading, `file:${name}`, String(asFile), 'none', sent);
      }
      for (const listed of (reading.fields['n[]'] as string[] | undefined) ?? []) {
        const isWithin = Number(listed) <= input.choices;
        if (!isWithin) throw different(reading, 'n[]', listed, `at most ${input.choices}`, sent);
      }
      const count = (name: string): number => (reading.fields![`file:${name}`] as number | undefined) ?? 0;
      const images = count('image') + count('image[]');
      const most = form.images.length;
      if (images > most) throw different(reading, 'image', String(images), `at most ${most}`, sent);
    }
  }
  return { isRelayed: true, refusals };
}

function stored(body: Buffer): StoredUpload {
  return {
    sizeBytes: body.length,
    async *read(start = 0, end = body.length) {
      yield body.subarray(start, end);
    },
  };
}

async function bytesOf(body: StoredBody): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of body.read()) pieces.push(piece);
  return Buffer.concat(pieces);
}

function different(reading: Reading, name: string, found: string, wanted: string, sent: Buffer): Error {
  const message = `${reading.reader} reads ${name} as ${found}, the gateway as ${wanted}, of ${JSON.stringify(sent.toString('latin1'))}`;
  return new AssertionError({ message, actual: found, expected: wanted, operator: 'strictEqual' });
}
