import { subscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream } from 'node:http2';

/**
 * Finds the HTTP/2 stream of a request.
 *
 * undici (8.12) reports a response whose stream the provider reset in the middle as complete, whatever the code of the
 * reset was, unless a content length proves otherwise. A call could count as complete, and be charged so, though half
 * of it is missing. The stream has the code, but undici does not expose the stream; Node does, through a diagnostics
 * channel.
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

/** The next stream is that of the request which undici is about to write: the two follow one another at once. */
export function expectStream(take: TakeStream): void {
  expecting = take;
}

/** There was none: the connection speaks HTTP/1.1. */
export function expectNoStream(): void {
  expecting = null;
}
