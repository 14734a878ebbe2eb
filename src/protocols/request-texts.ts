import type { JsonReader } from '../lib/json/json-reader.ts';
import { isPublicServer, isPublicServerAt, schemeAt } from './addresses.ts';
import type { StateText, TextRule } from './request-rules.ts';
import { type ShownReference, shownByValue } from './shown-references.ts';

const ID_BYTES_MAX = 256;
const ADDRESS_BYTES_MAX = 4_096;
/** Addresses of content that stands in the request or on the web. */
const WEB: readonly string[] = ['http', 'https', 'data', 'blob'];
/** By which a text names files at Alibaba Cloud. */
const FILE_SCHEME = 'fileid';

/** Whether the text that comes next is an id of the vendor's own. */
export function isExcepted(json: JsonReader, { except }: StateText): boolean {
  return except !== undefined && json.kind === 'string' && except.includes(textHere(json, ID_BYTES_MAX) ?? '');
}

/** What the text that comes next refers to, by what it is; `unlisted`: it may not be what it is. */
export function shownByText(json: JsonReader, rule: Exclude<TextRule, StateText>): ShownReference | 'unlisted' | null {
  switch (rule) {
    case 'setting':
      return null;
    case 'shown':
      return shownByValue(json.bytes, json.offset);
    case 'server':
      return isPublicServer(textHere(json, ADDRESS_BYTES_MAX)) ? null : 'unlisted';
    default:
      return shownByAddress(json, rule);
  }
}

function shownByAddress(json: JsonReader, rule: 'prose' | 'link' | 'media'): ShownReference | null {
  const scheme = schemeAt(json.bytes, json.offset + 1);
  if (scheme === null) return rule === 'media' ? shownByBareMedia(json) : null;
  if (rule === 'prose' ? scheme === FILE_SCHEME : !WEB.includes(scheme)) {
    return { kind: 'file', id: textHere(json, ADDRESS_BYTES_MAX) ?? scheme };
  }
  const isFetched = rule === 'media' && scheme.startsWith('http');
  return isFetched && !isPublicServerAt(json.bytes, json.offset) ? { kind: 'network', id: '' } : null;
}

/** A text in place of an address: base64, the id of a file, or the path of one, which some servers of models open. */
function shownByBareMedia(json: JsonReader): ShownReference | null {
  const shown = shownByValue(json.bytes, json.offset);
  if (shown !== null) return shown;
  const path = textHere(json, ADDRESS_BYTES_MAX);
  return path?.includes('.') === true ? { kind: 'file', id: path } : null;
}

function textHere(json: JsonReader, sizeBytesMax: number): string | null {
  return json.from(json.offset).text(sizeBytesMax);
}
