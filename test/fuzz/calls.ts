import type { JsonOperationName } from '../../src/protocols/operations/all.ts';
import { works } from '../conformance/addresses.ts';
import { REQUEST_TABLES } from '../support/request-tables.ts';
import { tableMembers } from './table-bodies.ts';
import type { Values } from './values.ts';

/** The operation of an address and a valid request, by suffix of the address. */
const CALLS: Readonly<Record<string, readonly [JsonOperationName, object]>> = {
  '/chat/completions': ['chat', works.chat.body],
  '/messages': ['messages', works.messages.body],
  '/messages/count_tokens': ['messages', works.countTokens.body],
  '/responses': ['responses', works.responses.body],
  '/responses/input_tokens': ['responses', works.inputTokens.body],
  '/responses/compact': ['compact', works.compact.body],
  '/embeddings': ['embeddings', works.embeddings.body],
  '/rerank': ['rerank', works.rerank.body],
  '/images/generations': ['images.generate', works.imageGeneration.body],
};

/** The session id in the body of a call. */
const SESSIONS = [
  '"prompt_cache_key":"a"',
  '"metadata":{"user_id":"user_1"}',
  '"prompt_cache_key":"a","prompt_cache_key":"b"',
];
const STREAM = '"stream":true';

/** Whether the address may call a provider. */
export function isCall(path: string): boolean {
  return path.endsWith('/images/edits') || Object.keys(CALLS).some((end) => path.endsWith(end));
}

/** The members of a call at this address, generated from the tables of its protocol; `null` if it has none. */
export function callMembers(path: string, { dice, known, oddness }: Values): string[] | null {
  const end = Object.keys(CALLS).find((each) => path.endsWith(each));
  if (end === undefined) return null;
  const [operation, body] = CALLS[end]!;
  const made = tableMembers({
    dice,
    table: REQUEST_TABLES[operation],
    oddness: oddness / 4,
    // An empty id does not count as one, so that some calls are accepted.
    id: () => (dice.happens(0.6) ? '' : (known('state') ?? '')),
    model: () => known('model') ?? '',
  });
  if (dice.happens(0.3)) made.push(STREAM);
  if (dice.happens(0.15)) made.push(dice.one(SESSIONS));
  const isGiven = (name: string): boolean => made.some((member) => member.startsWith(`"${name}":`));
  const own = Object.entries(body)
    .filter(([name]) => !isGiven(name) || dice.happens(0.02))
    .map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  return dice.happens(0.5) ? [...own, ...made] : [...made, ...own];
}
