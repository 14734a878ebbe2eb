import { JsonCapture } from '../../src/lib/json/json-capture.ts';
import type { Answer, AnswerReading } from '../../src/protocols/metering/answer.ts';
import { capturedAnswer } from '../../src/protocols/metering/captured-answer.ts';

/** What is kept of a whole response while it is relayed, as one chunk or cut into several. */
export function captureAnswer(
  { keep, count, holding }: AnswerReading,
  body: string | Buffer | readonly Buffer[],
): Answer {
  const capture = new JsonCapture({ keep, count, holding, keptBytesMax: 16 * 1024 * 1024 });
  const chunks = typeof body === 'string' ? [Buffer.from(body)] : Buffer.isBuffer(body) ? [body] : body;
  for (const chunk of chunks) capture.push(chunk);
  capture.end();
  return capturedAnswer(capture);
}
