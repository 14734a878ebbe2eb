import { readChatStream } from '../src/protocols/chat/stream.ts';
import { readMessagesStream } from '../src/protocols/messages/stream.ts';
import type { StreamReading } from '../src/protocols/metering/stream-reading.ts';
import { StreamTap } from '../src/protocols/metering/tap.ts';
import { readResponsesStream } from '../src/protocols/responses/stream.ts';

/**
 * The cost of inspecting a chunk of a stream in passing, in nanoseconds, without sockets and HTTP.
 *
 *   node bench/stream-chunk.ts
 */
const ROUNDS = 5;
const STREAMS = 200;
const CHUNKS = 1_000;

const CHAT =
  'data: {"id":"chatcmpl-9Xy1123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini",' +
  '"system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":"Hello there"},"logprobs":null,' +
  '"finish_reason":null}],"usage":null}\n\n';
const MESSAGES =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello there"}}\n\n';

const RESPONSES =
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_1",' +
  '"output_index":0,"content_index":0,"delta":"Hello there","logprobs":[],"obfuscation":"aBcDeFgHiJk"}\n\n';

const ignore = (): void => undefined;
const OUTPUT = { forward: ignore, forwardError: ignore, finish: ignore, finishError: ignore };

measure('chat', () => readChatStream({ dropsUsageChunk: false, choices: 1 }), Buffer.from(CHAT));
measure('messages', readMessagesStream, Buffer.from(MESSAGES));
measure('responses', readResponsesStream, Buffer.from(RESPONSES));

function measure(name: string, read: () => StreamReading, chunk: Buffer): void {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const begin = process.cpuUsage();
    for (let stream = 0; stream < STREAMS; stream++) {
      const tap = new StreamTap(read(), OUTPUT);
      for (let i = 0; i < CHUNKS; i++) tap.push(chunk);
    }
    const { user, system } = process.cpuUsage(begin);
    return ((user + system) * 1_000) / (STREAMS * CHUNKS);
  });
  console.log(`${name}: ${Math.min(...rounds).toFixed(0)} ns a chunk, the best of ${ROUNDS} rounds`);
}
