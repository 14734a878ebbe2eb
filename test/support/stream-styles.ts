import type { RecordedStream } from './streams.ts';

/** Equivalent spellings of a stream: the choices that WHATWG, "Parsing an event stream", and JSON leave to the sender. */
export interface StreamStyle {
  readonly name: string;
  /** Line ends, used in rotation. */
  readonly lineEnds: readonly string[];
  readonly hasByteOrderMark?: boolean;
  /** Comments between and inside events. */
  readonly hasComments?: boolean;
  /** `id`, `retry` and unknown fields. */
  readonly hasOtherFields?: boolean;
  /** No space after the colon of a field. */
  readonly isTight?: boolean;
  /** Continues data in another line at every nth place that JSON allows. */
  readonly splitsEvery?: number;
  /** Line ends missing at the end of the stream: the empty line, or the end of its last line too. */
  readonly lacks?: 'emptyLine' | 'lineEnd';
}

/** A stream in a style, split by what happens to its bytes. */
export interface RenderedStream {
  readonly whole: Buffer;
  readonly forwarded: Buffer;
  readonly finished: Buffer;
  /** The event that reports a failure, without the line end of its empty line. */
  readonly failing: string;
}

/** Mentions everything that a tap looks for, without being any of it. */
const COMMENT =
  ': data: [DONE] "usage":{"prompt_tokens":7} event: error "error":{} "type":"response.completed" .completed';
const OTHER_FIELDS = ['id: 7', 'retry: 3000', 'x-unheard-of: "usage":{"input_tokens":1}', 'dataset'];

export function renderStream(stream: RecordedStream, style: StreamStyle): RenderedStream {
  const lines = new LineWriter(style.lineEnds);
  const { events, dropped, record } = stream;
  const parts = { whole: '', forwarded: '', finished: '', failing: '' };
  for (const [i, event] of events.entries()) {
    const isLast = i === events.length - 1;
    const start = i === 0 && style.hasByteOrderMark ? '\ufeff' : '';
    // Before the event, so that the stream ends with an event; none before the last event, so that no comment precedes it.
    const before = start + (style.hasComments && !isLast ? lines.write([COMMENT, '']) : '');
    let text = lines.write([...eventLines(event, style), '']);
    if (isLast && style.lacks !== undefined) text = text.replace(lackedEnd(style.lacks), '');
    parts.whole += before + text;
    if (record !== null && i > record) {
      parts.finished += before + text;
    } else {
      parts.forwarded += before;
      if (i === record) parts.finished += text;
      else if (i !== dropped) parts.forwarded += text;
    }
    if (i === stream.failing) parts.failing = text.replace(/\n$/, '');
  }
  return {
    whole: Buffer.from(parts.whole),
    forwarded: Buffer.from(parts.forwarded),
    finished: Buffer.from(parts.finished),
    failing: parts.failing,
  };
}

function lackedEnd(lacks: 'emptyLine' | 'lineEnd'): RegExp {
  return lacks === 'emptyLine' ? /(?:\r\n|\r|\n)$/ : /(?:\r\n|\r|\n){2}$/;
}

/** Adds line ends to lines, in rotation. */
class LineWriter {
  readonly #ends: readonly string[];
  #turn = 0;
  #previous = '';

  constructor(ends: readonly string[]) {
    this.#ends = ends;
  }

  write(lines: readonly string[]): string {
    return lines.map((line) => line + this.#endOf(line)).join('');
  }

  #endOf(line: string): string {
    let end = this.#ends[this.#turn++ % this.#ends.length]!;
    // LF on an empty line after a CR would become the second half of CRLF.
    if (line === '' && this.#previous === '\r' && end === '\n') end = '\r';
    this.#previous = end;
    return end;
  }
}

function eventLines(event: string, style: StreamStyle): string[] {
  const lines: string[] = [];
  for (const line of event.trimEnd().split('\n')) {
    const data = /^data: (.*)$/.exec(line)?.[1];
    if (data === undefined) lines.push(line);
    else lines.push(...splitData(data, style.splitsEvery ?? Infinity).map((part) => `data: ${part}`));
  }
  // Around the data, not inside: a byte search would fail between a key and its value.
  if (style.hasComments) lines.splice(lines[0]!.startsWith('event') ? 1 : 0, 0, COMMENT);
  if (style.hasComments) lines.push(COMMENT);
  if (style.hasOtherFields) lines.push(...OTHER_FIELDS);
  return style.isTight ? lines.map((line) => line.replace(/^(\w+): /, '$1:')) : lines;
}

/** Splits data between JSON tokens, where line ends have no meaning. */
function splitData(data: string, every: number): string[] {
  if (!data.startsWith('{')) return [data];
  const tokens = data.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^"{}[\]:,]+/g)!;
  const lines = [''];
  for (const [i, token] of tokens.entries()) {
    if (i > 0 && i % every === 0) lines.push('');
    lines[lines.length - 1] += token;
  }
  return lines;
}
