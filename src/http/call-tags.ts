import type { IncomingHttpHeaders } from 'node:http';
import { invalidRequest } from '../errors/gateway-error.ts';

/** Header with the tags of a call. It is never sent to providers. */
export const TAGS_HEADER = 'x-faregate-tags';

const TAGS_MAX = 8;
const TAG_LENGTH_MAX = 64;
export const TAG_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$/;

export const isTag = (text: string): boolean => text.length <= TAG_LENGTH_MAX && TAG_PATTERN.test(text);

/**
 * Reads tags separated by commas, without repetitions. Empty elements are ignored (RFC 9110, 5.6.1). Returns `null` if there are no tags.
 * @throws GatewayError `invalidRequest` if a tag is malformed or there are too many
 */
export function readTags(headers: IncomingHttpHeaders): readonly string[] | null {
  const text = headers[TAGS_HEADER];
  if (text === undefined) return null;
  const tags = new Set<string>();
  for (const element of String(text).split(',')) {
    const tag = element.trim();
    if (tag === '') continue;
    if (!isTag(tag)) throw malformed();
    tags.add(tag);
  }
  if (tags.size > TAGS_MAX) throw malformed();
  return tags.size === 0 ? null : [...tags];
}

const malformed = () =>
  invalidRequest(
    `The ${TAGS_HEADER} header must be a list of at most ${TAGS_MAX} tags, separated by commas. A tag has 1 to ${TAG_LENGTH_MAX} ` +
      'letters, digits and characters of "_.:/@+-", and begins with a letter or a digit.',
    TAGS_HEADER,
  );
