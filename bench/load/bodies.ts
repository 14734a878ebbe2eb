import type { RequestKind, ResponseKind } from './order.ts';

/** Bodies of requests and responses. They are the same in each run, so that runs can be compared. */

export interface Body {
  readonly contentType: string;
  readonly bytes: Buffer;
}

const IMAGE_BYTES = 256 * 1024;
const LONG_PROMPT_BYTES = 200_000;
const LONG_RESPONSE_BYTES = 1_000_000;
const MIXED_TEXT_BYTES = 1_000_000;
const BOUNDARY = 'bench-boundary';
/** Indexes of the long texts. */
const LONG_TEXTS = [0, 1, 2, 3, 4, 5, 6, 7];
/** Above the number of lines in any text. */
const LINES_APART = 1_000_000;

/**
 * Request bodies, used in rotation; none if requests have no body. There are several long texts, so that caching the last one gains
 * little. The path determines the protocol of calls and streams.
 */
export function requestBodies(kind: RequestKind, model: string, path = '/v1/chat/completions'): readonly Body[] {
  const form = formOf(path);
  switch (kind) {
    case 'none':
      return [];
    case 'chat':
      return [json({ model, ...asked(form, 'word '.repeat(200)) })];
    case 'stream':
      return [json({ model, stream: true, ...asked(form, 'word '.repeat(200)) })];
    case 'long prompt':
      return LONG_TEXTS.map((text) => json({ model, messages: messagesOf(LONG_PROMPT_BYTES, text) }));
    case 'mixed text':
      return LONG_TEXTS.map((text) => json({ model, messages: messagesOf(MIXED_TEXT_BYTES, text) }));
    case 'image':
      return [{ contentType: `multipart/form-data; boundary=${BOUNDARY}`, bytes: imageForm(model) }];
  }
}

/** The body of a non-streaming response. */
export function responseBody(kind: Exclude<ResponseKind, 'stream'>, form: Form = 'chat'): Body {
  switch (kind) {
    case 'chat':
      if (form === 'messages') return json(message('word '.repeat(100)));
      return json(completion('word '.repeat(100)));
    case 'long':
      return json(completion(mixedText(LONG_RESPONSE_BYTES)));
    case 'image':
      return json({ created: 1_790_000_000, data: [{ b64_json: imageBytes().toString('base64') }] });
    case 'models':
      return json({ object: 'list', data: [{ id: 'bench-upstream', object: 'model', created: 1, owned_by: 'bench' }] });
  }
}

/**
 * Realistic text: English, Chinese, code, numbers and JSON, without equal lines, so that a cache of text gains no more than in practice.
 * At least this many UTF-8 bytes; texts of other numbers have other lines.
 */
export function mixedText(bytes: number, number = 0): string {
  const parts: string[] = [];
  let length = 0;
  for (let line = number * LINES_APART; length < bytes; line++) {
    const text = mixedLine(line);
    parts.push(text);
    length += Buffer.byteLength(text);
  }
  return parts.join('');
}

const WORDS = 'account balance stream provider measured second because although gateway reads quickly river'.split(' ');
const HAN = '模型网关计费账户余额请求响应时间超过限制用户今天价格调用结果数据库';

function mixedLine(line: number): string {
  const word = (step: number): string => WORDS[(line * 7 + step * 5) % WORDS.length]!;
  const han = (count: number): string =>
    Array.from({ length: count }, (_, i) => HAN[(line * 11 + i * 3) % HAN.length]).join('');
  switch (line % 5) {
    case 0:
      return `The ${word(1)} of ${word(2)} no. ${line} ${word(3)}, said “${word(4)}”; ${word(5)} it was ${word(6)}.\n`;
    case 1:
      return `${han(24)}，${line}个${han(6)}。\n`;
    case 2:
      return `const ${word(1)}${line} = ${word(2)}.map((x) => x * ${line % 97} + 0x${(line * 2_654_435_761).toString(16)});\n`;
    case 3:
      return `{"id":"${word(1)}_${line}","${word(2)}":[${line}, ${line * 3.7}, null],"ok":${line % 2 === 0}}\n`;
    default:
      return `| ${word(1)} | ${(line * 1.618).toFixed(3)} | ${word(2)}-${word(3)} | 2026-0${1 + (line % 9)}-1${line % 10} |\n`;
  }
}

/** A conversation of this many bytes of text, 4 KB per message. */
function messagesOf(bytes: number, number: number): { role: string; content: string }[] {
  const text = mixedText(bytes, number);
  const size = 4_000;
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: text.slice(i * size, (i + 1) * size),
  }));
}

/** Protocols of clients and providers. */
export type Form = 'chat' | 'messages' | 'responses';

/** The protocol of an address. */
export function formOf(path: string): Form {
  if (path.endsWith('/messages')) return 'messages';
  return path.endsWith('/responses') ? 'responses' : 'chat';
}

function asked(form: Form, text: string): object {
  if (form === 'responses') return { input: text };
  const messages = [{ role: 'user', content: text }];
  return form === 'messages' ? { max_tokens: 1_000, messages } : { messages };
}

function message(text: string): object {
  return {
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'bench-upstream',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 200, output_tokens: 100 },
  };
}

function completion(content: string): object {
  return {
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'bench-upstream',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 },
  };
}

function imageForm(model: string): Buffer {
  const field = (name: string, value: string): string =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  return Buffer.concat([
    Buffer.from(field('model', model) + field('prompt', 'a red door in a white wall')),
    Buffer.from(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="image"; filename="door.png"\r\ncontent-type: image/png\r\n\r\n`,
    ),
    imageBytes(),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
}

/** The header of a PNG of 512 × 512, followed by noise, which no gateway inspects. */
function imageBytes(): Buffer {
  const bytes = Buffer.alloc(IMAGE_BYTES);
  for (let i = 0, state = 1; i < bytes.length; i++) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    bytes[i] = state >> 16;
  }
  Buffer.from('89504e470d0a1a0a0000000d494844520000020000000200080600000000000000', 'hex').copy(bytes);
  return bytes;
}

function json(value: object): Body {
  return { contentType: 'application/json', bytes: Buffer.from(JSON.stringify(value)) };
}
