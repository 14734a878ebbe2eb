/**
 * Reads a `multipart/form-data` body (RFC 7578, RFC 2046 5.1) as a stream of bytes and reports the offsets of its
 * parts, so that a body that is passed on byte for byte can have one of them replaced. Chunks may be cut anywhere. What
 * is kept between two chunks is one header line at most, and of content nothing.
 *
 * Two readers of one body must not see different parts: the gateway decides by its own reading, the provider acts by
 * another. So whatever readers are known to disagree about is a syntax error: lines that end with a bare LF or CR,
 * folded headers, a header or parameter that comes twice, `name*`, a name with a backslash, anything behind a boundary,
 * spaces included, and the boundary itself wherever it delimits nothing. Go ends a part at a boundary after a bare LF,
 * Werkzeug after a bare CR too, Django in the middle of a line, and PHP reads on behind the closing boundary.
 */

import { parseParameters, parseStrictParameters } from './header-parameters.ts';

/** The body is not well-formed, or beyond a limit. `offset` is the byte at which that became clear. */
export class MultipartSyntaxError extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.name = 'MultipartSyntaxError';
    this.offset = offset;
  }
}

export interface PartHead {
  /** With the escapes of browsers (`%22`) resolved. */
  readonly name: string;
  /** Whatever its text, a file name is what makes a part a file; `filename*` (RFC 8187) goes first. */
  readonly filename: string | null;
  readonly contentType: string | null;
  /** Offset in the body of the first byte of the content. */
  readonly contentStart: number;
  /** The part's other headers by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Its methods are called in this order for every part: `partBegin`, `partData` any number of times, `partEnd`. */
interface MultipartSink {
  partBegin(head: PartHead): void;
  /** The next bytes of the content, never none. They are only valid during the call, unless the sink keeps a copy. */
  partData(bytes: Buffer): void;
  /** `contentEnd` is the offset behind the last byte of the content. */
  partEnd(contentEnd: number): void;
}

/** A form of images has a few dozen parts. */
const PARTS_MAX = 1000;

/** Of the header lines of one part, with what stands behind its boundary: honest ones have a few hundred bytes. */
const HEADER_BYTES_MAX = 16 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const HYPHEN = 0x2d;

/**
 * Where in the body the parser is:
 *
 *     preamble ─boundary→ boundaryTail ─CRLF→ headers ─empty line→ content ─boundary→ boundaryTail ...
 *                           └ "-" → closing ─"-"→ closed ─CRLF or end→ epilogue
 */
type Place =
  | 'preamble'
  | 'boundaryTail'
  | 'lineFeed'
  | 'headers'
  | 'content'
  | 'closing'
  | 'closed'
  | 'closedLineFeed'
  | 'epilogue';

/** After an error, of the parser or of its sink, the parser must not be used any more. */
export class MultipartParser {
  readonly #sink: MultipartSink;
  /** CRLF, two hyphens, the boundary. Its only CR is the first byte: no two matches of its beginning overlap. */
  readonly #delimiter: Buffer;
  #place: Place = 'preamble';
  /** Offset in the body of the chunk that is being read. */
  #chunkOffset = 0;
  /**
   * How many bytes of the delimiter the content read so far ends with. They need not be kept, because they are known.
   * The first `#foreign` of them belong to the line before the content: a boundary at the very beginning of the body
   * has no CRLF of its own.
   */
  #matched = 2;
  #foreign = 2;
  #parts = 0;
  /** What is behind the boundary on its line, and the header lines so far. */
  #headerBytes = 0;
  /** The header line that is being read, in the beginning of a buffer made for the limit when it is first needed. */
  #line: Buffer | null = null;
  #lineBytes = 0;
  #headers = new Map<string, string>();
  /** Looks for the boundary outside of delimiters: around the parts, in their content, in their headers. */
  readonly #strays: StraySearch;
  #firstBoundaryStart: number | null = null;
  #isClosed = false;

  /** `boundary` as `multipartBoundary` returns it. */
  constructor(boundary: string, sink: MultipartSink) {
    if (!BOUNDARY.test(boundary)) throw new RangeError('not a boundary in the sense of RFC 2046');
    this.#sink = sink;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
    this.#strays = new StraySearch(this.#delimiter.subarray(2));
  }

  /**
   * Offset of the hyphens of the first boundary, `null` before it has come. A part that is inserted here consists of a
   * boundary line, headers, an empty line, content and CRLF.
   */
  get firstBoundaryStart(): number | null {
    return this.#firstBoundaryStart;
  }

  /** @throws MultipartSyntaxError and whatever the sink throws. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      switch (this.#place) {
        case 'preamble':
        case 'content':
          at = this.#search(chunk, at);
          break;
        case 'epilogue':
          this.#strays.push(chunk.subarray(at), this.#chunkOffset + at);
          at = chunk.length;
          break;
        case 'headers':
          this.#header(chunk[at]!, this.#chunkOffset + at);
          at++;
          break;
        default:
          this.#place = this.#behindBoundary(chunk[at]!, this.#chunkOffset + at);
          at++;
      }
    }
    this.#chunkOffset += chunk.length;
  }

  /** The body is over. @throws MultipartSyntaxError where the closing boundary has not come. */
  end(): void {
    if (this.#isClosed) return;
    const what = this.#firstBoundaryStart === null ? 'the boundary does not occur' : 'the closing boundary is missing';
    throw new MultipartSyntaxError(what, this.#chunkOffset);
  }

  /** Reads content, or what precedes the first boundary, and returns where in the chunk to go on. */
  #search(chunk: Buffer, start: number): number {
    const delimiter = this.#delimiter;
    if (this.#matched > 0) {
      const compared = Math.min(delimiter.length - this.#matched, chunk.length - start);
      if (chunk.compare(delimiter, this.#matched, this.#matched + compared, start, start + compared) === 0) {
        this.#matched += compared;
        if (this.#matched === delimiter.length) this.#boundary(start + compared);
        return start + compared;
      }
      // It only looked like the delimiter.
      const heldBytes = this.#matched - this.#foreign;
      if (heldBytes > 0) {
        this.#content(delimiter.subarray(this.#foreign, this.#matched), this.#chunkOffset + start - heldBytes);
      }
      this.#matched = 0;
      this.#foreign = 0;
    }
    const found = chunk.indexOf(delimiter, start);
    if (found !== -1) {
      if (found > start) this.#content(chunk.subarray(start, found), this.#chunkOffset + start);
      this.#boundary(found + delimiter.length);
      return found + delimiter.length;
    }
    const tail = this.#delimiterBegins(chunk, start);
    if (tail > start) this.#content(chunk.subarray(start, tail), this.#chunkOffset + start);
    this.#matched = chunk.length - tail;
    return chunk.length;
  }

  /** Where in the chunk a delimiter begins that its end cuts off; the length of the chunk if there is none. */
  #delimiterBegins(chunk: Buffer, start: number): number {
    const from = Math.max(start, chunk.length - this.#delimiter.length + 1);
    const cr = from + chunk.subarray(from).lastIndexOf(CR);
    if (cr < from) return chunk.length;
    return chunk.compare(this.#delimiter, 0, chunk.length - cr, cr) === 0 ? cr : chunk.length;
  }

  #content(bytes: Buffer, offset: number): void {
    this.#strays.push(bytes, offset);
    if (this.#place === 'content') this.#sink.partData(bytes);
  }

  /** A delimiter ends at `end` of the chunk. */
  #boundary(end: number): void {
    const delimiterStart = this.#chunkOffset + end - this.#delimiter.length;
    if (this.#place === 'content') {
      // RFC 2046 lets a part without content lack the CRLF before its boundary. No client sends that, readers disagree
      // about it, and there would be no place for content to be put in.
      if (this.#foreign > 0) {
        throw new MultipartSyntaxError('a boundary follows the headers of a part at once', delimiterStart + 2);
      }
      this.#sink.partEnd(delimiterStart);
    } else {
      this.#firstBoundaryStart = delimiterStart + 2;
    }
    this.#matched = 0;
    this.#foreign = 0;
    this.#headerBytes = 0;
    this.#place = 'boundaryTail';
  }

  /** Takes one byte of what may stand behind a boundary, and returns the next place. */
  #behindBoundary(byte: number, offset: number): Place {
    this.#countHeaderByte(offset);
    const place = this.#place;
    if (place === 'boundaryTail' && byte === HYPHEN) return 'closing';
    if (place === 'closing' && byte === HYPHEN) {
      this.#isClosed = true;
      return 'closed';
    }
    if (place === 'boundaryTail' && byte === CR) return 'lineFeed';
    if (place === 'closed' && byte === CR) return 'closedLineFeed';
    if (place === 'closedLineFeed' && byte === LF) {
      this.#strays.restart();
      return 'epilogue';
    }
    if (place === 'lineFeed' && byte === LF) {
      this.#beginHeaders(offset);
      return 'headers';
    }
    if (byte === LF) throw bareLineFeed(offset);
    throw new MultipartSyntaxError('a boundary is followed by something else than the end of its line', offset);
  }

  #beginHeaders(offset: number): void {
    if (this.#parts >= PARTS_MAX) throw new MultipartSyntaxError(`there are more than ${PARTS_MAX} parts`, offset);
    this.#parts++;
    this.#lineBytes = 0;
    this.#headers = new Map();
  }

  /** Takes one byte of the header lines of a part. */
  #header(byte: number, offset: number): void {
    this.#countHeaderByte(offset);
    this.#line ??= Buffer.allocUnsafe(HEADER_BYTES_MAX);
    const isAfterCr = this.#lineBytes > 0 && this.#line[this.#lineBytes - 1] === CR;
    if (byte !== LF) {
      if (isAfterCr) throw new MultipartSyntaxError('a header line contains a CR', offset - 1);
      this.#line[this.#lineBytes++] = byte;
      return;
    }
    if (!isAfterCr) throw bareLineFeed(offset);
    const line = this.#line.toString('utf8', 0, this.#lineBytes - 1);
    const lineStart = offset - this.#lineBytes;
    this.#strays.restart();
    this.#strays.push(this.#line.subarray(0, this.#lineBytes), lineStart);
    this.#lineBytes = 0;
    if (line !== '') {
      addHeader(this.#headers, line, lineStart);
      return;
    }
    this.#strays.restart();
    this.#place = 'content';
    this.#matched = 2;
    this.#foreign = 2;
    this.#sink.partBegin(readHead(this.#headers, offset + 1));
  }

  /** Everything that is read byte by byte is counted: the time for a body stays with the search for boundaries. */
  #countHeaderByte(offset: number): void {
    if (this.#headerBytes++ < HEADER_BYTES_MAX) return;
    throw new MultipartSyntaxError(`the headers of a part are larger than ${HEADER_BYTES_MAX} bytes`, offset);
  }
}

/**
 * Finds the hyphens and the boundary in bytes that come in pieces. It keeps the end of each piece, which is shorter
 * than a boundary.
 */
class StraySearch {
  readonly #dashBoundary: Buffer;
  #tail: Buffer = Buffer.alloc(0);

  constructor(dashBoundary: Buffer) {
    this.#dashBoundary = dashBoundary;
  }

  /** The next bytes do not follow the ones before. */
  restart(): void {
    this.#tail = this.#tail.subarray(0, 0);
  }

  /** @throws MultipartSyntaxError at the first hyphen. `offset` is where in the body the bytes begin. */
  push(bytes: Buffer, offset: number): void {
    const seamBytes = this.#dashBoundary.length - 1;
    const seam = Buffer.concat([this.#tail, bytes.subarray(0, seamBytes)]);
    this.#search(seam, offset - this.#tail.length);
    this.#search(bytes, offset);
    const last = bytes.length >= seamBytes ? bytes : seam;
    // A copy: the chunk that it stands in is far larger.
    this.#tail = Buffer.from(last.subarray(Math.max(0, last.length - seamBytes)));
  }

  #search(bytes: Buffer, offset: number): void {
    const found = bytes.indexOf(this.#dashBoundary);
    if (found === -1) return;
    throw new MultipartSyntaxError('the boundary occurs where it delimits no part', offset + found);
  }
}

function bareLineFeed(offset: number): MultipartSyntaxError {
  return new MultipartSyntaxError('a line ends with LF alone; lines end with CRLF', offset);
}

/** A header name is a token (RFC 9110, 5.6.2). */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Some readers take these characters for white space, others for the end of the text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

function addHeader(headers: Map<string, string>, line: string, offset: number): void {
  const nameEnd = line.indexOf(':');
  const name = line.slice(0, Math.max(nameEnd, 0)).toLowerCase();
  if (!HEADER_NAME.test(name))
    throw new MultipartSyntaxError('a header line is not "name: value", or is folded', offset);
  if (CONTROL.test(line)) throw new MultipartSyntaxError('a header line contains a control character', offset);
  if (headers.has(name)) throw new MultipartSyntaxError(`the header ${name} comes twice in a part`, offset);
  headers.set(
    name,
    line
      .slice(nameEnd + 1)
      .replace(/^[ \t]+/, '')
      .trimEnd(),
  );
}

const DISPOSITION_PARAMETERS = new Set(['name', 'filename', 'filename*']);

/** Reads the headers of a part, and takes out those that have a place of their own. */
function readHead(headers: Map<string, string>, contentStart: number): PartHead {
  const fail = (message: string) => new MultipartSyntaxError(message, contentStart);
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary';
  if (encoding !== 'binary' && encoding !== '8bit' && encoding !== '7bit') {
    throw fail('a part has a Content-Transfer-Encoding; send its content as it is');
  }
  const disposition = parseStrictParameters(headers.get('content-disposition') ?? '');
  if (disposition?.value !== 'form-data') throw fail('a part has no well-formed Content-Disposition: form-data');
  const { parameters } = disposition;
  for (const parameter of parameters.keys()) {
    // RFC 2231 spellings that some readers join or prefer to the plain parameter, and others do not know. Another one
    // could contain a second name for readers that take the end of a file name's quotation to be elsewhere.
    if (!DISPOSITION_PARAMETERS.has(parameter)) throw fail(`a part has a parameter ${parameter}`);
  }
  const name = parameters.get('name');
  if (name === undefined) throw fail('a part has no name');
  // Some readers resolve escapes of more characters than others, and some those of mail headers (RFC 2047).
  if (disposition.escaped.has('name') || name.includes('=?')) throw fail('a part has an escape in its name');
  const filename = parameters.get('filename');
  const extended = parameters.get('filename*');
  const decoded = extended === undefined ? null : decodeExtended(extended);
  if (extended !== undefined && decoded === null) throw fail('a part has a filename* that is not as RFC 8187 says');
  const contentType = headers.get('content-type') ?? null;
  // Parts within a part, of which only some readers know.
  if (contentType !== null && /^\s*multipart\//i.test(contentType)) throw fail('a part is a form of its own');
  headers.delete('content-disposition');
  headers.delete('content-type');
  return {
    name: decodePercent(name),
    filename: decoded ?? (filename === undefined ? null : decodePercent(filename)),
    contentType,
    contentStart,
    headers,
  };
}

/** Browsers, and most clients by now, write three characters of a name so and no others (HTML, "multipart/form-data"). */
function decodePercent(text: string): string {
  return text.replace(/%(?:22|0D|0A)/gi, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)));
}

/** The text of `UTF-8'en'%e2%82%ac` (RFC 8187), `null` if it is something else. */
function decodeExtended(value: string): string | null {
  const [, charset, text] = /^(utf-8|iso-8859-1)'[^']*'((?:[^%'"\s]|%[0-9a-f]{2})*)$/i.exec(value) ?? [];
  if (charset === undefined || text === undefined) return null;
  if (charset.toLowerCase() === 'utf-8') {
    try {
      return decodeURIComponent(text);
    } catch {
      return null;
    }
  }
  return text.replace(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** `boundary` of RFC 2046, 5.1.1: up to 70 characters of a few kinds, the last one not a space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/**
 * The boundary of a Content-Type, `null` unless that is multipart/form-data with one valid boundary. `boundary*`, which
 * readers of RFC 2231 prefer to `boundary`, and its like make it none.
 */
export function multipartBoundary(contentType: string | undefined): string | null {
  const type = parseParameters(contentType ?? '');
  if (type?.value !== 'multipart/form-data') return null;
  for (const name of type.parameters.keys()) if (name.includes('*')) return null;
  const boundary = type.parameters.get('boundary');
  return boundary !== undefined && BOUNDARY.test(boundary) ? boundary : null;
}

const TOKEN = /^[!#$%&*+\-.^_`|~0-9A-Za-z]+$/;

/** The Content-Type of a form with this boundary, which has nothing that a reader could prefer to it. */
export function multipartContentType(boundary: string): string {
  return `multipart/form-data; boundary=${TOKEN.test(boundary) ? boundary : `"${boundary}"`}`;
}
