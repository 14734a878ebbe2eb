import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { EVENT_BYTES_MAX } from '../../lib/sse/sse.ts';
import { StreamTap } from '../metering/tap.ts';
import { WrittenText } from '../metering/written-text.ts';
import { chatResponse } from './response.ts';
import { type ChatStreamOptions, readChatStream } from './stream.ts';

/** Ten seconds at 24 kHz, 16 bits, one channel, which OpenAI's documentation specifies for `pcm16`. */
const TEN_SECONDS = Buffer.alloc(480_000, 7);

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;

/** Audio arrives in chunks, with a transcript. */
function spoken(bytes: Buffer, pieces: number, more: object = {}): string[] {
  const size = bytes.length / pieces;
  return [
    chunk({ role: 'assistant', audio: { id: 'audio_1', transcript: 'Hell' } }, more),
    ...Array.from({ length: pieces }, (_, i) =>
      chunk({ audio: { data: bytes.subarray(i * size, (i + 1) * size).toString('base64') } }, more),
    ),
  ];
}

function left(events: readonly (string | Buffer)[], options: Partial<ChatStreamOptions> = {}): StreamTap {
  const nothing = (): void => {};
  const reading = readChatStream({ dropsUsageChunk: true, choices: 1, ...options });
  const tap = new StreamTap(reading, {
    forward: nothing,
    forwardError: nothing,
    finish: nothing,
    finishError: nothing,
  });
  for (const event of events) tap.push(Buffer.from(event));
  tap.end();
  return tap;
}

const outputOf = (tap: StreamTap) => {
  const { outputTokens, audioOutputTokens, imageOutputTokens } = tap.usage.facts(11)!;
  return { text: outputTokens, audio: audioOutputTokens, image: imageOutputTokens };
};

/** A non-streaming response with all members that an estimate needs. */
const responseOf = (members: object) =>
  captureResponse({ ...chatResponse(), keep: Object.keys(members) }, JSON.stringify(members));

const speaks: Partial<ChatStreamOptions> = { hasAudio: true, audioFormat: 'pcm16' };
const picture = (more: object = {}) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${Buffer.alloc(3_000, 9).toString('base64')}` },
  ...more,
});

describe('audio in a chat stream that breaks off', () => {
  it('counts 20 tokens per second in addition to its transcript', () => {
    assert.deepEqual(outputOf(left(spoken(TEN_SECONDS, 20), speaks)), { text: 1, audio: 200, image: 0 });
    assert.deepEqual(outputOf(left(spoken(TEN_SECONDS, 20).slice(0, 11), speaks)), { text: 1, audio: 100, image: 0 });
  });

  it('counts by the data rate of its format and the token rate of its model', () => {
    const audioOf = (format: string | null, model: string) =>
      outputOf(left(spoken(TEN_SECONDS, 20, { model }), { ...speaks, audioFormat: format })).audio;
    assert.equal(audioOf('wav', 'gpt-4o-audio-preview'), 200);
    assert.equal(audioOf(null, 'gpt-4o-audio-preview'), 200);
    assert.equal(audioOf('mp3', 'gpt-4o-audio-preview'), 480);
    assert.equal(audioOf('wav', 'qwen3-omni-flash'), 125);
    assert.equal(audioOf('wav', 'qwen3.5-omni-plus'), 125);
    assert.equal(audioOf('wav', 'qwen-omni-turbo-latest'), 250);
  });

  it('counts the same however the stream is cut, and in an event that is too large to be buffered', () => {
    const bytes = Buffer.from(spoken(TEN_SECONDS, 1).join(''));
    for (const at of [1, 40, 200, 300_001, bytes.length - 3]) {
      assert.deepEqual(outputOf(left([bytes.subarray(0, at), bytes.subarray(at)], speaks)).audio, 200);
    }
    const minute = Buffer.from(spoken(Buffer.alloc(60 * 48_000, 7), 1).join(''));
    assert.ok(minute.length > EVENT_BYTES_MAX);
    for (const size of [minute.length, 65_536, 1_000_003]) {
      const parts = Array.from({ length: Math.ceil(minute.length / size) }, (_, i) =>
        minute.subarray(i * size, (i + 1) * size),
      );
      assert.deepEqual(outputOf(left(parts, speaks)).audio, 1_200, `parts of ${size}`);
    }
  });

  it('is not counted in addition to reported audio tokens', () => {
    const usage = (more: object) => ({ usage: { prompt_tokens: 11, completion_tokens: 240, ...more } });
    const events = spoken(TEN_SECONDS, 20);
    const plain = left([...events, chunk({}, usage({}))], speaks);
    assert.deepEqual(outputOf(plain), { text: 40, audio: 200, image: 0 });
    const detailed = left([...events, chunk({}, usage({ completion_tokens_details: { audio_tokens: 230 } }))], speaks);
    assert.deepEqual(outputOf(detailed), { text: 10, audio: 230, image: 0 });
  });

  it('is not counted after the end, where nothing is delivered', () => {
    const [first, second] = spoken(TEN_SECONDS, 2).slice(1);
    const search = chunk({}, { web_search: [{ title: 'x' }] });
    const tap = left([first!, 'data: [DONE]\n\n', second!, chunk({ images: [picture()] }), search], speaks);
    assert.deepEqual(outputOf(tap), { text: 0, audio: 100, image: 0 });
    assert.equal(tap.usage.facts(11)!.webSearches, 0);
  });

  it('is charged if an error follows', () => {
    const tap = left([...spoken(TEN_SECONDS, 1).slice(1), 'data: {"error":{"message":"No."}}\n\n'], speaks);
    assert.equal(tap.hasError, true);
    assert.equal(outputOf(tap).audio, 200);
  });
});

describe('images in a chat stream that breaks off', () => {
  it('count the smallest number of tokens that is billed for an image', () => {
    assert.deepEqual(outputOf(left([chunk({ content: 'Here.', images: [picture()] })])), {
      text: 2,
      audio: 0,
      image: 1_056,
    });
    const two = [chunk({ images: [picture({ index: 0 }), picture({ index: 1 })] })];
    assert.equal(outputOf(left(two)).image, 2 * 1_056);
    assert.equal(outputOf(left([chunk({ content: [{ type: 'text', text: 'a' }, picture()] })])).image, 1_056);
    assert.equal(outputOf(left([chunk({ images: [{ image_url: { url: 'https://x.example/a.png' } }] })])).image, 1_056);
    assert.equal(outputOf(left([chunk({ content: 'a', images: [] }), chunk({ images: [{}] })])).image, 0);
  });

  it('count once if they are repeated with an index', () => {
    const event = chunk({ images: [picture({ index: 0 })] });
    assert.equal(outputOf(left([event, event])).image, 1_056);
  });

  it('count in an event that is too large to be buffered, wherever it is cut', () => {
    const url = `data:image/png;base64,${Buffer.alloc(900_000, 9).toString('base64')}`;
    const bytes = Buffer.from(chunk({ images: [{ image_url: { url } }, { image_url: { url } }] }));
    assert.ok(bytes.length > EVENT_BYTES_MAX);
    const second = bytes.indexOf(';base64,', 1_000);
    for (let at = second - 2; at < second + 12; at++) {
      const start = at - 1_100_000;
      const parts = [bytes.subarray(0, start), bytes.subarray(start, at), bytes.subarray(at)];
      assert.equal(outputOf(left(parts)).image, 2 * 1_056, `cut at ${at}`);
    }
    assert.equal(outputOf(left([bytes])).image, 2 * 1_056);
  });
});

describe('images in the text of a chat response', () => {
  const text = `![](data:image/png;base64,${randomBytes(30_000).toString('base64')})`;

  it('count as images, in streams and in non-streaming responses', () => {
    assert.deepEqual(outputOf(left([chunk({ content: text })])), { text: 7, audio: 0, image: 1_056 });
    const whole = new WrittenText(chatResponse().written!, false);
    whole.add(Buffer.from(JSON.stringify({ choices: [{ index: 0, message: { content: text } }] })));
    assert.deepEqual([whole.sizeBytes, whole.pictures], [27, 1]);
  });
});

describe('audio and images in a non-streaming response without usage', () => {
  it('count as in a stream', () => {
    const { estimate, usage } = chatResponse({ hasAudio: true, audioFormat: 'wav' });
    const message = {
      content: 'Here.',
      images: [picture()],
      audio: { id: 'audio_1', data: TEN_SECONDS.toString('base64'), transcript: 'Hell' },
    };
    const members = { choices: [{ index: 0, message }], model: 'gpt-4o-audio-preview' };
    const response = responseOf(members);
    const media = estimate!.mediaTokens!(response);
    assert.deepEqual(media, { audioOutputTokens: 200, imageOutputTokens: 1_056 });
    const reported = estimate!.members({ inputTokens: 11, outputTokens: 3, ...media, searchUnits: 0 });
    const used = usage(responseOf({ ...members, ...reported }), 'tokens')!;
    assert.deepEqual([used.outputTokens, used.audioOutputTokens, used.imageOutputTokens], [3, 200, 1_056]);
  });
});
