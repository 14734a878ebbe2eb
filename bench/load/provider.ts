import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Body, type Form, formOf, responseBody } from './bodies.ts';
import type { ResponseKind } from './order.ts';
import { streamForms } from './stream-forms.ts';

/** A provider that responds at once as configured, and sends chunks on streams on request. The path determines its protocol. */
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
  const bodies = new Map<string, Body>();
  const streams = new Map<ServerResponse, Form>();
  /** In order of rotation. */
  let turns: ServerResponse[] = [];
  let turn = 0;

  function respond(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    request.on('end', () => {
      const form = formOf(request.url!);
      if (kind === 'stream') return beginStream(response, form);
      const { contentType, bytes } = bodyOf(kind, form);
      response.writeHead(200, { 'content-type': contentType, 'content-length': bytes.length });
      response.end(bytes);
    });
  }

  function bodyOf(kind: Exclude<ResponseKind, 'stream'>, form: Form): Body {
    const known = bodies.get(`${kind} ${form}`);
    if (known !== undefined) return known;
    const made = responseBody(kind, form);
    bodies.set(`${kind} ${form}`, made);
    return made;
  }

  function beginStream(response: ServerResponse, form: Form): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(streamForms[form].begin());
    response.write(chunk(form));
    streams.set(response, form);
    response.on('close', () => streams.delete(response));
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
        turns = [...streams.keys()];
        turn = 0;
      }
      const response = turns[turn++];
      if (response?.writable) response.write(chunk(streams.get(response) ?? 'chat'));
    },
    endStreams: () => {
      for (const [response, form] of streams) response.end(streamForms[form].end());
    },
  };
}

const chunk = (form: Form): string => streamForms[form].delta(`word bench@${performance.now()}@`);
