import { JsonCapture } from '../../src/lib/json/json-capture.ts';
import type { ReadResponse, ResponseReading } from '../../src/protocols/metering/response.ts';

/** What is captured of a non-streaming response, relayed as one chunk or as several. */
export function captureResponse(
  { keep, keepMarked, count, holding }: ResponseReading,
  body: string | Buffer | readonly Buffer[],
): ReadResponse {
  const capture = new JsonCapture({ keep, keepMarked, count, holding, keptBytesMax: 16 * 1024 * 1024 });
  const chunks = typeof body === 'string' ? [Buffer.from(body)] : Buffer.isBuffer(body) ? [body] : body;
  for (const chunk of chunks) capture.push(chunk);
  capture.end();
  return capture;
}
