import { crc32, deflateSync } from 'node:zlib';
import { event } from './provider.ts';

/** Wire formats of the operations other than chat and messages, as the vendors document them, and forms to upload. */

/** An embeddings response. Base64 holds the same floats, four bytes each, little-endian. */
export function embeddingList(usage: object | null, vector: readonly number[] = [0.5, -0.25, 1], isBase64 = false) {
  const embedding = isBase64 ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector;
  return {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding }],
    model: 'embedder',
    ...(usage === null ? {} : { usage }),
  };
}

/** A rerank response, with the usage where the given vendor puts it. */
export function rerankResult(facts: object) {
  return { id: 'rerank_1', model: 'reranker', results: [{ index: 1, relevance_score: 0.9 }], ...facts };
}

/** A non-streaming response with images (contract 2.2). */
export function imagesResult(count: number, more: object = {}) {
  const data = Array.from({ length: count }, () => ({ b64_json: IMAGE_TEXT, revised_prompt: null }));
  return { created: 1_790_000_000, data, ...more };
}

/** Usage of an images call. Tokens that are not text are image tokens. */
export function imageUsage(input: { text: number; image: number }, outputTokens: number, more: object = {}) {
  return {
    input_tokens: input.text + input.image,
    input_tokens_details: { text_tokens: input.text, image_tokens: input.image },
    output_tokens: outputTokens,
    total_tokens: input.text + input.image + outputTokens,
    ...more,
  };
}

export type ImageEvents = 'image_generation' | 'image_edit';

/** One event of an image stream. Members set to `undefined` are left out. */
export function imageEvent(kind: ImageEvents, step: 'partial_image' | 'completed', more: object): string {
  return event(`${kind}.${step}`, {
    b64_json: IMAGE_TEXT,
    created_at: 1_790_000_000,
    size: '1024x1024',
    quality: 'high',
    background: 'opaque',
    output_format: 'png',
    ...more,
  });
}

/** A PNG of a single colour. */
export function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.alloc((width + 1) * height));
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}

/** The base64 contents of the provider's images. */
export const IMAGE_TEXT = png(4, 4).toString('base64');

/** A part of a form: text, or a file with its name. */
export type FormPart = readonly [name: string, value: string | Buffer, filename?: string];

/** A request body and its content type. */
export interface TypedBody {
  readonly contentType: string;
  readonly body: Buffer;
}

export function form(parts: readonly FormPart[], boundary = 'form-4f2c9a71d0'): TypedBody {
  const pieces = parts.flatMap(([name, value, filename]) => {
    const file = filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: application/octet-stream`;
    return [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`),
      typeof value === 'string' ? Buffer.from(value) : value,
      Buffer.from('\r\n'),
    ];
  });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}

export function jsonBody(value: object): TypedBody {
  return { contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}
