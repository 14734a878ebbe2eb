import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClientFormName } from '../../src/protocols/translation/pairs.ts';
import { translateRequest } from '../../src/protocols/translation/translated-request.ts';
import { type Transcript, targetOf } from '../support/transcripts.ts';
import { chatAnswer, messagesAnswer } from './translated-answers.ts';
import { PARTS, type Target } from './translated-model.ts';
import { readChat, readMessages, usesFor } from './translated-wire.ts';

/** Records requests that clients really sent, as fixtures of `test/translation/golden.test.ts`. */

const FOLDER = fileURLToPath(new URL('../fixtures/translation', import.meta.url));
const WORK = '/work/project';

export interface RecordedRequest {
  readonly client: string;
  /** Name of the file. */
  readonly name: string;
  readonly form: ClientFormName;
  readonly target: Target;
  readonly body: Buffer;
  /** Directories of this machine, and what stands for them. */
  readonly directories: Readonly<Record<string, string>>;
}

/** Writes a request without what belongs to this machine and this day, and the beginning of the model's answer to the first one. */
export function writeTranscript({ client, name, form, target, body, directories }: RecordedRequest): void {
  const request = shortened(JSON.parse(sanitized(body.toString('utf8'), directories))) as Transcript['request'];
  const written = translateRequest(
    { client: form, body: Buffer.from(JSON.stringify(request)), model: request.model },
    targetOf(target),
  );
  const translated = JSON.parse(Buffer.from(written.body).toString('utf8'));
  const asked = target === 'chat' ? readChat(translated) : readMessages(translated);
  const prefix = target === 'chat' ? 'call_0' : 'toolu_0';
  const turn = {
    call: 0,
    model: asked.model,
    usage: { input: 1000, cached: 500, output: 20 },
    reasoning: asked.reasons ? 'Call 0: “think” about\\nit 😀.\n' : '',
    signature: 'c2lnbmVkIDA=',
    text: 'Step 0.',
    uses: usesFor(
      Object.keys(PARTS).map((file) => ({ kind: 'read', file })),
      prefix,
      asked,
      WORK,
    ),
  };
  const { events } = target === 'chat' ? chatAnswer(turn, true) : messagesAnswer(turn);
  const transcript: Pick<Transcript, 'client' | 'request' | 'providerStream'> = {
    client,
    request,
    providerStream: events,
  };
  const file = join(FOLDER, `${form}-to-${target}`, `${name}.json`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(transcript, null, 2)}\n`);
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const DATE = /\b20\d\d-\d\d-\d\d\b/g;
const LONG_DATE = /\b\w+day, \w+ \d{1,2}, 20\d\d/g;

function sanitized(text: string, directories: Readonly<Record<string, string>>): string {
  const ids = new Map<string, string>();
  let plain = text;
  for (const [directory, shown] of Object.entries(directories)) plain = plain.replaceAll(directory, shown);
  return plain
    .replaceAll(LONG_DATE, 'Thursday, January 1, 2026')
    .replaceAll(DATE, '2026-01-01')
    .replaceAll(UUID, (id) => {
      if (!ids.has(id)) ids.set(id, `00000000-0000-4000-8000-${String(ids.size).padStart(12, '0')}`);
      return ids.get(id)!;
    });
}

const LENGTH_MAX = 200;
const LENGTH_SHOWN = 60;
const PROPERTIES_MAX = 3;
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGOYMGECAAL+AX6iXYIvAAAAAElFTkSuQmCC';
/** Members that stay whole: what the model wrote, and what the gateway gave. */
const WHOLE = ['arguments', 'input', 'signature', 'encrypted_content', 'data', 'id', 'call_id'];

/** Texts of agents are cut, and so are their schemas: only their structure matters. */
function shortened(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return shortText(value, name);
  if (Array.isArray(value)) return (name === 'enum' ? value.slice(0, 4) : value).map((each) => shortened(each, name));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  if (name === 'client_metadata') return Object.fromEntries(members.map(([key]) => [key, '…']));
  const kept = name === 'properties' ? members.slice(0, PROPERTIES_MAX) : members;
  const short = Object.fromEntries(kept.map(([key, each]) => [key, shortened(each, key)]));
  const { properties, required } = short as { properties?: object; required?: readonly string[] };
  if (properties === undefined || required === undefined) return short;
  return { ...short, required: required.filter((each) => each in properties) };
}

function shortText(text: string, name: string): string {
  if (name === 'user_id') return 'user';
  if (text.startsWith('iVBOR')) return PNG;
  if (text.startsWith('data:image/png;base64,')) return `data:image/png;base64,${PNG}`;
  if (text.startsWith('data:image/')) return text.slice(0, LENGTH_SHOWN);
  if (text.startsWith('x-anthropic-billing-header')) return `${text.split(';')[0]};`;
  if (WHOLE.includes(name) || text.length <= LENGTH_MAX) return text;
  return `${[...text].slice(0, LENGTH_SHOWN).join('')}…`;
}
