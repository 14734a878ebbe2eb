import { subscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream } from 'node:http2';

/**
 * Receives the HTTP/2 stream of a request, which has the reset code. If a provider resets a stream, undici (8.12) reports a complete
 * response unless the content length contradicts it, so the call could be charged as complete. undici does not expose the stream, but Node
 * does, through a diagnostics channel.
 */

type TakeStream = (stream: ClientHttp2Stream) => void;

let expecting: TakeStream | null = null;
let isWatching = false;

/** Call this before the first request over HTTP/2. */
export function watchStreams(): void {
  if (isWatching) return;
  isWatching = true;
  subscribe('http2.client.stream.created', (message) => {
    const take = expecting;
    expecting = null;
    take?.((message as { readonly stream: ClientHttp2Stream }).stream);
  });
}

/** Call this when undici is about to write a request. Node then creates its stream synchronously. */
export function expectStream(take: TakeStream): void {
  expecting = take;
}

/** Ends `expectStream`. Call this after a request was written: if the connection uses HTTP/1.1, Node has created no stream. */
export function expectNoStream(): void {
  expecting = null;
}
