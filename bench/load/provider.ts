import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Body, responseBody } from './bodies.ts';
import type { ResponseKind } from './order.ts';

/** A provider that responds at once as configured, and sends chunks on streams on request. */
export interface SimulatedProvider {
  readonly server: Server;
  /** Sets the response from now on. */
  give(kind: ResponseKind): void;
  /** Sends a chunk, which contains the current time, on the next stream in rotation. */
  sendChunk(): void;
  /** Ends all streams as providers do: usage, then the final event. */
  endStreams(): void;
}

const KEEP_ALIVE_MS = 600_000;
const SENT_AT = /bench@([\d.]+)@/g;

/** The send times of the chunks in a text, and where the text after the last one begins. */
export function sendTimes(text: string): { readonly sentMs: readonly number[]; readonly rest: string } {
  const sentMs: number[] = [];
  let end = 0;
  for (const match of text.matchAll(SENT_AT)) {
    sentMs.push(Number(match[1]));
    end = match.index + match[0].length;
  }
  return { sentMs, rest: text.slice(end) };
}

export function createProvider(): SimulatedProvider {
  let kind: ResponseKind = 'chat';
  const bodies = new Map<ResponseKind, Body>();
  const streams = new Set<ServerResponse>();
  /** In order of rotation. */
  let turns: ServerResponse[] = [];
  let turn = 0;

  function respond(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    request.on('end', () => {
      if (kind === 'stream') return beginStream(response);
      const { contentType, bytes } = bodyOf(kind);
      response.writeHead(200, { 'content-type': contentType, 'content-length': bytes.length });
      response.end(bytes);
    });
  }

  function bodyOf(kind: Exclude<ResponseKind, 'stream'>): Body {
    const known = bodies.get(kind);
    if (known !== undefined) return known;
    const made = responseBody(kind);
    bodies.set(kind, made);
    return made;
  }

  function beginStream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(event([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]));
    response.write(chunk());
    streams.add(response);
    response.on('close', () => streams.delete(response));
  }

  function endStream(response: ServerResponse): void {
    const usage = { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 };
    response.end(`${event([{ index: 0, delta: {}, finish_reason: 'stop' }])}${event([], usage)}data: [DONE]\n\n`);
  }

  const server = createServer(respond);
  // Keeps connections open between rounds of a target.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return {
    server,
    give: (given) => {
      kind = given;
    },
    sendChunk() {
      if (turn >= turns.length) {
        turns = [...streams];
        turn = 0;
      }
      const response = turns[turn++];
      if (response?.writable) response.write(chunk());
    },
    endStreams: () => {
      for (const response of streams) endStream(response);
    },
  };
}

function chunk(): string {
  return event([{ index: 0, delta: { content: `word bench@${performance.now()}@` }, finish_reason: null }]);
}

function event(choices: readonly object[], usage: object | null = null): string {
  const head = {
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'bench-upstream',
  };
  return `data: ${JSON.stringify({ ...head, choices, usage })}\n\n`;
}
