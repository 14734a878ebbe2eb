import { subscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream } from 'node:http2';

/**
 * Finds the HTTP/2 stream of a request.
 *
 * undici (8.12) reports a response as complete if the provider reset its stream midway with any code, unless the content length contradicts it. An
 * incomplete call could then be charged as complete. The stream has the reset code, but undici does not expose the stream. Node does, through a
 * diagnostics channel.
 */

type TakeStream = (stream: ClientHttp2Stream) => void;

let expecting: TakeStream | null = null;
let isWatching = false;

/** Must be called before the first request over HTTP/2. */
export function watchStreams(): void {
  if (isWatching) return;
  isWatching = true;
  subscribe('http2.client.stream.created', (message) => {
    const take = expecting;
    expecting = null;
    take?.((message as { readonly stream: ClientHttp2Stream }).stream);
  });
}

/** The next stream created belongs to the request that undici is about to write, since both happen synchronously. */
export function expectStream(take: TakeStream): void {
  expecting = take;
}

/** Called if the connection uses HTTP/1.1, so no stream was created. */
export function expectNoStream(): void {
  expecting = null;
}
