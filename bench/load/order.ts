/** What the bench tells the process that makes load and plays the provider, and what that reports. */

/** What the bodies of a request and of its response are; `bodies.ts` makes them. */
export type RequestKind = 'chat' | 'stream' | 'long prompt' | 'mixed text' | 'image' | 'none';
export type ResponseKind = 'chat' | 'stream' | 'long' | 'image' | 'models';

/** A call that is made again and again. */
export interface CallShape {
  /** Of the target, without a path. */
  readonly url: string;
  readonly path: string;
  readonly model: string;
  readonly request: RequestKind;
  /** What the provider gives meanwhile, whatever it is asked for. */
  readonly response: ResponseKind;
  /** API keys, taken in turns. */
  readonly keys: readonly string[];
  /** Beside the content type; one of these may be the credential instead of the keys. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Calls as fast as the target responds, so many at a time. */
export interface ClosedOrder {
  readonly kind: 'closed';
  readonly call: CallShape;
  readonly connections: number;
  readonly seconds: number;
}

/** So many calls a second, whether or not earlier ones have ended. */
export interface OpenOrder {
  readonly kind: 'open';
  readonly call: CallShape;
  readonly callsPerSecond: number;
  readonly seconds: number;
}

/** Begins so many streams; reports when each of them has had its first chunk. */
export interface BeginStreamsOrder {
  readonly kind: 'begin streams';
  readonly call: CallShape;
  readonly streams: number;
}

/** Sends chunks on all streams in turns, and reports how late they were. */
export interface WatchStreamsOrder {
  readonly kind: 'watch streams';
  readonly seconds: number;
}

/** Ends all streams, and reports when all clients have seen their end. */
export interface EndStreamsOrder {
  readonly kind: 'end streams';
}

export type LoadOrder = ClosedOrder | OpenOrder | BeginStreamsOrder | WatchStreamsOrder | EndStreamsOrder;

/** What came of an order. */
export interface LoadResult {
  /** Calls that succeeded; of streams that are watched, chunks that arrived. */
  readonly done: number;
  readonly failures: number;
  /** The first thing that went wrong, for whoever reads the report. */
  readonly firstFailure: string | null;
  /** Bytes of the bodies of the requests that succeeded. */
  readonly requestBytes: number;
  readonly elapsedMs: number;
  /**
   * Of a call, from when it is sent to the end of its response; at a fixed rate from when it is due; of a chunk, from provider
   * to client. `null` if nothing was done.
   */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly p999Ms: number | null;
}
