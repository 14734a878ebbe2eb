import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback } from './loopback.ts';

/** A request as the provider received it, byte for byte. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export type Respond = (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

/** A provider on loopback that responds as a test decides, and records its requests. */
export interface ScriptedProvider {
  /** Without a path: chat providers get `/v1` appended, messages providers do not. */
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** Sets how requests are handled from now on. */
  respond: Respond;
  /** Resolves when the given number of requests has arrived in all. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startProvider(): Promise<ScriptedProvider> {
  const requests: ReceivedRequest[] = [];
  let waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: ReceivedRequest = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks),
      };
      requests.push(request);
      waiting = waiting.filter(({ count, resolve }) => {
        if (requests.length < count) return true;
        resolve();
        return false;
      });
      void provider.respond(request, response);
    });
  });
  const { port, close } = await listenOnLoopback(server);
  const provider: ScriptedProvider = {
    url: `http://127.0.0.1:${port}`,
    requests,
    respond: chatResponse(),
    received: (count) =>
      requests.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve })),
    close,
  };
  return provider;
}

export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: object;
  readonly completion_tokens_details?: object;
}

export const chatUsage: ChatUsage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
export interface MessagesUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_creation?: object;
  readonly output_tokens_details?: object;
}

export const messagesUsage: MessagesUsage = { input_tokens: 12, output_tokens: 8 };

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Respond {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Sends an event stream, one write per text. */
export function sse(events: readonly string[], headers: Record<string, string> = {}): Respond {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    for (const event of events) response.write(event);
    response.end();
  };
}

/** A response that a test writes in chunks. */
export interface LiveResponse {
  readonly respond: Respond;
  /** Resolves when the call has arrived and the head of the response is sent. */
  readonly opened: Promise<void>;
  /** Resolves when the gateway has closed the connection. */
  readonly closed: Promise<void>;
  /** Sends a chunk. Resolves when the operating system has accepted it, which it does not while the gateway is not reading. */
  write(piece: string | Buffer): Promise<void>;
  end(): void;
  /** Resets the connection. */
  reset(): void;
}

export function liveResponse(headers: Record<string, string> = { 'content-type': 'text/event-stream' }): LiveResponse {
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let response: ServerResponse;
  return {
    opened: opened.promise,
    closed: closed.promise,
    respond(_request, given) {
      response = given;
      response.socket!.once('close', () => closed.resolve());
      response.writeHead(200, headers);
      response.flushHeaders();
      opened.resolve();
    },
    write: (piece) =>
      new Promise((resolve, reject) => response.write(piece, (error) => (error ? reject(error) : resolve()))),
    end: () => void response.end(),
    reset: () => response.socket!.resetAndDestroy(),
  };
}

/** A non-streaming chat response in the vendor's format. */
export function chatCompletion(usage: object | null = chatUsage, content = 'Hello there') {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'upstream-chat',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    ...(usage === null ? {} : { usage }),
  };
}

/** The events of a chat stream; with a usage chunk if a usage is given. */
export function chatStream(words: readonly string[], usage: object | null = chatUsage): string[] {
  const chunk = (rest: object): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'upstream-chat', ...rest })}\n\n`;
  return [
    chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }], usage: null }),
    ...words.map((content) => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null })),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null }),
    ...(usage === null ? [] : [chunk({ choices: [], usage })]),
    'data: [DONE]\n\n',
  ];
}

/** Responds to a chat call as a real provider does, with a stream and usage in the stream if requested. */
export function chatResponse(usage: object = chatUsage): Respond {
  return asAsked(chatCompletion(usage), (isUsageAsked) => chatStream(['Hello', ' there'], isUsageAsked ? usage : null));
}

/** A text completion. */
export function textCompletion(usage: object | null = chatUsage, text = 'Hello there') {
  return {
    id: 'cmpl-1',
    object: 'text_completion',
    created: 1_790_000_000,
    model: 'completer',
    choices: [{ index: 0, text, logprobs: null, finish_reason: 'stop' }],
    ...(usage === null ? {} : { usage }),
  };
}

/** The events of a stream of a text completion; with a usage chunk if a usage is given. */
export function textCompletionStream(words: readonly string[], usage: object | null = chatUsage): string[] {
  const { choices: _, ...head } = textCompletion(null);
  const chunk = (rest: object): string => `data: ${JSON.stringify({ ...head, ...rest })}\n\n`;
  return [
    ...words.map((text) => chunk({ choices: [{ index: 0, text, logprobs: null, finish_reason: null }] })),
    chunk({ choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'stop' }] }),
    ...(usage === null ? [] : [chunk({ choices: [], usage })]),
    'data: [DONE]\n\n',
  ];
}

export function completionResponse(usage: object = chatUsage): Respond {
  return asAsked(textCompletion(usage), (isUsageAsked) =>
    textCompletionStream(['Hello', ' there'], isUsageAsked ? usage : null),
  );
}

/** Responds with a stream if the request asks for one, with usage if it asks for it. */
function asAsked(whole: object, stream: (isUsageAsked: boolean) => readonly string[]): Respond {
  return (request, response) => {
    const body = JSON.parse(request.body.toString()) as {
      stream?: boolean;
      stream_options?: { include_usage?: boolean };
    };
    const received = body.stream ? sse(stream(body.stream_options?.include_usage === true)) : json(200, whole);
    return received(request, response);
  };
}

/** A non-streaming messages response in the vendor's format. */
export function message(usage: object | null = messagesUsage, text = 'Hello there') {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'upstream-messages',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    ...(usage === null ? {} : { usage }),
  };
}

export function event(type: string, rest: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
}

/** The events of a messages stream. */
export function messagesStream(words: readonly string[], usage: MessagesUsage = messagesUsage): string[] {
  return [
    event('message_start', {
      message: {
        ...message(null),
        content: [],
        stop_reason: null,
        usage: { ...usage, output_tokens: Math.min(1, usage.output_tokens) },
      },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('ping'),
    ...words.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    }),
    event('message_stop'),
  ];
}

/** Responds to a messages call as a real provider does. */
export function messagesResponse(usage: MessagesUsage = messagesUsage): Respond {
  return (request, response) => {
    const body = JSON.parse(request.body.toString()) as { stream?: boolean };
    const received = body.stream ? sse(messagesStream(['Hello', ' there'], usage)) : json(200, message(usage));
    return received(request, response);
  };
}
