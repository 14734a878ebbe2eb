import { subscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream } from 'node:http2';

/**
 * Receives the HTTP/2 stream of a request. If a provider resets a stream, undici (8.12) reports the response as complete, unless the
 * content length contradicts this, and the call could be charged as complete. The stream has the reset code. undici does not expose the
 * stream, but Node does, through a diagnostics channel.
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

/** Called when undici is about to write a request. Node then creates its stream synchronously. */
export function expectStream(take: TakeStream): void {
  expecting = take;
}

/** Called if the connection uses HTTP/1.1, so that no stream was created. */
export function expectNoStream(): void {
  expecting = null;
}
