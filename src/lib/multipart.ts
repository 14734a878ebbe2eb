/**
 * This file parses a `multipart/form-data` body (RFC 7578, RFC 2046 5.1) as a stream and reports the offsets of its parts, so that a part
 * of a relayed body can be replaced. Chunks may be split anywhere. Between chunks, at most one header line is kept.
 *
 * The provider parses the body again and must find the same parts. Therefore everything about which parsers disagree is a syntax error:
 * lines that end with a bare LF or CR, folded or repeated headers, repeated parameters, `name*`, a name with a backslash, anything after a
 * boundary on its line, and a boundary within content. Go ends a part at a boundary after a bare LF, Werkzeug also after a bare CR, Django
 * in the middle of a line, and PHP continues after the closing boundary.
 */

import { parseParameters, parseStrictParameters } from './header-parameters.ts';

/** The body is malformed or exceeds a limit. `offset`: the byte at which this was found. */
export class MultipartSyntaxError extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.name = 'MultipartSyntaxError';
    this.offset = offset;
  }
}

export interface PartHead {
  /** Name of the part, with the escapes of browsers (`%22`) decoded. */
  readonly name: string;
  /** A part with a file name, even an empty one, is a file. `filename*` (RFC 8187) takes precedence. `null`: no file. */
  readonly filename: string | null;
  readonly contentType: string | null;
  /** Offset of the part's content in the body. */
  readonly contentStart: number;
  /** Other headers by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Receives the parts of a body. For each one, `partBegin` is called, `partData` any number of times, then `partEnd`. */
interface MultipartSink {
  partBegin(head: PartHead): void;
  /** Receives further bytes of the content, at least one. They are valid only during the call. */
  partData(bytes: Buffer): void;
  /** Called at the end of the content. `contentEnd`: offset after its last byte. */
  partEnd(contentEnd: number): void;
}

/** Maximum number of parts. Forms with images have a few dozen. */
const PARTS_MAX = 1000;

/** Maximum size of a part's header lines, with the rest of the boundary's line. Clients send a few hundred bytes. */
const HEADER_BYTES_MAX = 16 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const HYPHEN = 0x2d;

/**
 * The state of the parser:
 *
 *     preamble ─boundary→ boundaryTail ─CRLF→ headers ─empty line→ content ─boundary→ boundaryTail ...
 *                           └ "-" → closing ─"-"→ closed ─CRLF or end→ epilogue
 */
type State =
  | 'preamble'
  | 'boundaryTail'
  | 'lineFeed'
  | 'headers'
  | 'content'
  | 'closing'
  | 'closed'
  | 'closedLineFeed'
  | 'epilogue';

/** Parses one body. After an error of the parser or of its sink, it must not be used any more. */
export class MultipartParser {
  readonly #sink: MultipartSink;
  /** CRLF, two hyphens and the boundary. Only its first byte is CR, so partial matches do not overlap. */
  readonly #delimiter: Buffer;
  #state: State = 'preamble';
  /** Offset of the current chunk in the body. */
  #chunkOffset = 0;
  /**
   * Number of delimiter bytes at the end of the content so far. The next field tells how many of them come before the content. At first it
   * is two: a boundary at the beginning of the body has no CRLF before it.
   */
  #matched = 2;
  #foreign = 2;
  #parts = 0;
  /** Bytes after the boundary on its line, plus those of the header lines so far. */
  #headerBytes = 0;
  /** Buffer for header lines, as large as their limit, beginning with the current line. Allocated when it is first used. */
  #line: Buffer | null = null;
  #lineBytes = 0;
  #headers = new Map<string, string>();
  /** Finds boundaries that do not delimit a part. */
  readonly #strays: StraySearch;
  #firstBoundaryStart: number | null = null;
  #isClosed = false;

  /** @param boundary the result of `multipartBoundary` */
  constructor(boundary: string, sink: MultipartSink) {
    if (!BOUNDARY.test(boundary)) throw new RangeError('not a valid boundary (RFC 2046)');
    this.#sink = sink;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
    this.#strays = new StraySearch(this.#delimiter.subarray(2));
  }

  /** Offset of the first boundary's hyphens, or `null`. A part can be inserted there: boundary line, headers, empty line, content, CRLF. */
  get firstBoundaryStart(): number | null {
    return this.#firstBoundaryStart;
  }

  /** Reads a chunk. @throws MultipartSyntaxError and errors of the sink */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      switch (this.#state) {
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
          this.#state = this.#afterBoundary(chunk[at]!, this.#chunkOffset + at);
          at++;
      }
    }
    this.#chunkOffset += chunk.length;
  }

  /** Ends the body. @throws MultipartSyntaxError if the closing boundary is missing */
  end(): void {
    if (this.#isClosed) return;
    const what = this.#firstBoundaryStart === null ? 'the boundary does not occur' : 'the closing boundary is missing';
    throw new MultipartSyntaxError(what, this.#chunkOffset);
  }

  /** Reads content, or bytes before the first boundary. Returns the offset after them. */
  #search(chunk: Buffer, start: number): number {
    const delimiter = this.#delimiter;
    if (this.#matched > 0) {
      const compared = Math.min(delimiter.length - this.#matched, chunk.length - start);
      if (chunk.compare(delimiter, this.#matched, this.#matched + compared, start, start + compared) === 0) {
        this.#matched += compared;
        if (this.#matched === delimiter.length) this.#boundary(start + compared);
        return start + compared;
      }
      // What matched was only the beginning of a delimiter, so these bytes belong to the content.
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

  /** Returns where a delimiter begins that the end of the chunk cuts off; the length of the chunk if there is none. */
  #delimiterBegins(chunk: Buffer, start: number): number {
    const from = Math.max(start, chunk.length - this.#delimiter.length + 1);
    const cr = from + chunk.subarray(from).lastIndexOf(CR);
    if (cr < from) return chunk.length;
    return chunk.compare(this.#delimiter, 0, chunk.length - cr, cr) === 0 ? cr : chunk.length;
  }

  #content(bytes: Buffer, offset: number): void {
    this.#strays.push(bytes, offset);
    if (this.#state === 'content') this.#sink.partData(bytes);
  }

  /** Called for a delimiter that ends at `end` in the chunk. */
  #boundary(end: number): void {
    const delimiterStart = this.#chunkOffset + end - this.#delimiter.length;
    if (this.#state === 'content') {
      // If a part has no content, RFC 2046 allows it to omit this CRLF. No client does so, and parsers disagree about it.
      if (this.#foreign > 0) {
        throw new MultipartSyntaxError('a boundary directly follows the headers of a part', delimiterStart + 2);
      }
      this.#sink.partEnd(delimiterStart);
    } else {
      this.#firstBoundaryStart = delimiterStart + 2;
    }
    this.#matched = 0;
    this.#foreign = 0;
    this.#headerBytes = 0;
    this.#state = 'boundaryTail';
  }

  /** Returns the state after a byte that follows a boundary. */
  #afterBoundary(byte: number, offset: number): State {
    this.#countHeaderByte(offset);
    const state = this.#state;
    if (state === 'boundaryTail' && byte === HYPHEN) return 'closing';
    if (state === 'closing' && byte === HYPHEN) {
      this.#isClosed = true;
      return 'closed';
    }
    if (state === 'boundaryTail' && byte === CR) return 'lineFeed';
    if (state === 'closed' && byte === CR) return 'closedLineFeed';
    if (state === 'closedLineFeed' && byte === LF) {
      this.#strays.restart();
      return 'epilogue';
    }
    if (state === 'lineFeed' && byte === LF) {
      this.#beginHeaders(offset);
      return 'headers';
    }
    if (byte === LF) throw bareLineFeed(offset);
    throw new MultipartSyntaxError('a boundary is not followed by the end of its line', offset);
  }

  #beginHeaders(offset: number): void {
    if (this.#parts >= PARTS_MAX) throw new MultipartSyntaxError(`there are more than ${PARTS_MAX} parts`, offset);
    this.#parts++;
    this.#lineBytes = 0;
    this.#headers = new Map();
  }

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
    this.#state = 'content';
    this.#matched = 2;
    this.#foreign = 2;
    this.#sink.partBegin(readHead(this.#headers, offset + 1));
  }

  /** Limits the bytes that are read one by one. So the search for boundaries determines the total time. */
  #countHeaderByte(offset: number): void {
    if (this.#headerBytes++ < HEADER_BYTES_MAX) return;
    throw new MultipartSyntaxError(`the headers of a part are larger than ${HEADER_BYTES_MAX} bytes`, offset);
  }
}

/** Finds two hyphens followed by the boundary. */
class StraySearch {
  readonly #dashBoundary: Buffer;
  #tail: Buffer = Buffer.alloc(0);

  constructor(dashBoundary: Buffer) {
    this.#dashBoundary = dashBoundary;
  }

  /** Call this if the next bytes do not directly follow the last ones. */
  restart(): void {
    this.#tail = this.#tail.subarray(0, 0);
  }

  /** Searches further bytes. `offset`: theirs in the body. @throws MultipartSyntaxError with the offset of the first hyphen */
  push(bytes: Buffer, offset: number): void {
    const seamBytes = this.#dashBoundary.length - 1;
    const seam = Buffer.concat([this.#tail, bytes.subarray(0, seamBytes)]);
    this.#search(seam, offset - this.#tail.length);
    this.#search(bytes, offset);
    const last = bytes.length >= seamBytes ? bytes : seam;
    // Copied, so that the much larger chunk is not kept in memory.
    this.#tail = Buffer.from(last.subarray(Math.max(0, last.length - seamBytes)));
  }

  #search(bytes: Buffer, offset: number): void {
    const found = bytes.indexOf(this.#dashBoundary);
    if (found === -1) return;
    throw new MultipartSyntaxError('the boundary occurs where it does not delimit a part', offset + found);
  }
}

function bareLineFeed(offset: number): MultipartSyntaxError {
  return new MultipartSyntaxError('a line ends with LF instead of CRLF', offset);
}

/** A header name: a token (RFC 9110, 5.6.2). */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Control characters. Some parsers read them as white space, others as the end of the text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

function addHeader(headers: Map<string, string>, line: string, offset: number): void {
  const nameEnd = line.indexOf(':');
  const name = line.slice(0, Math.max(nameEnd, 0)).toLowerCase();
  if (!HEADER_NAME.test(name))
    throw new MultipartSyntaxError('a header line is not "name: value", or is folded', offset);
  if (CONTROL.test(line)) throw new MultipartSyntaxError('a header line contains a control character', offset);
  if (headers.has(name)) throw new MultipartSyntaxError(`a part has the header ${name} twice`, offset);
  headers.set(
    name,
    line
      .slice(nameEnd + 1)
      .replace(/^[ \t]+/, '')
      .trimEnd(),
  );
}

const DISPOSITION_PARAMETERS = new Set(['name', 'filename', 'filename*']);

function readHead(headers: Map<string, string>, contentStart: number): PartHead {
  const fail = (message: string) => new MultipartSyntaxError(message, contentStart);
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary';
  if (encoding !== 'binary' && encoding !== '8bit' && encoding !== '7bit') {
    throw fail('a part has a Content-Transfer-Encoding; send its content without encoding');
  }
  const disposition = parseStrictParameters(headers.get('content-disposition') ?? '');
  if (disposition?.value !== 'form-data') throw fail('a part has no valid Content-Disposition: form-data');
  const { parameters } = disposition;
  for (const parameter of parameters.keys()) {
    // Parsers differ in which spelling of a parameter they prefer (RFC 2231), and another parameter could contain a second name.
    if (!DISPOSITION_PARAMETERS.has(parameter)) throw fail(`a part has an unknown parameter ${parameter}`);
  }
  const name = parameters.get('name');
  if (name === undefined) throw fail('a part has no name');
  // Parsers differ in the escapes that they decode. Some decode those of mail headers (RFC 2047).
  if (disposition.escaped.has('name') || name.includes('=?')) throw fail('a part has an escape in its name');
  const filename = parameters.get('filename');
  const extended = parameters.get('filename*');
  const decoded = extended === undefined ? null : decodeExtended(extended);
  if (extended !== undefined && decoded === null) throw fail('a part has an invalid filename* (RFC 8187)');
  const contentType = headers.get('content-type') ?? null;
  // Only some parsers support parts within a part.
  if (contentType !== null && /^\s*multipart\//i.test(contentType)) throw fail('a part is itself multipart');
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

/** Decodes the three characters that browsers and most clients escape in names (HTML, "multipart/form-data"). */
function decodePercent(text: string): string {
  return text.replace(/%(?:22|0D|0A)/gi, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)));
}

/** Decodes a value such as `UTF-8'en'%e2%82%ac` (RFC 8187); `null` if it is invalid. */
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

/** A boundary (RFC 2046, 5.1.1): up to 70 of these characters, of which the last is not a space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/** Returns the boundary; `null` unless the type is multipart/form-data with one valid boundary. `boundary*` is refused. */
export function multipartBoundary(contentType: string | undefined): string | null {
  const type = parseParameters(contentType ?? '');
  if (type?.value !== 'multipart/form-data') return null;
  for (const name of type.parameters.keys()) if (name.includes('*')) return null;
  const boundary = type.parameters.get('boundary');
  return boundary !== undefined && BOUNDARY.test(boundary) ? boundary : null;
}

const TOKEN = /^[!#$%&*+\-.^_`|~0-9A-Za-z]+$/;

export function multipartContentType(boundary: string): string {
  return `multipart/form-data; boundary=${TOKEN.test(boundary) ? boundary : `"${boundary}"`}`;
}
