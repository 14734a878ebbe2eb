/** Messages between the bench and the load generator. */

/** Kinds of request and response bodies; `bodies.ts` generates them. */
export type RequestKind = 'chat' | 'stream' | 'long prompt' | 'mixed text' | 'image' | 'none';
export type ResponseKind = 'chat' | 'stream' | 'long' | 'image' | 'models';

/** A call that is repeated. */
export interface CallShape {
  /** Address of the target, without a path. */
  readonly url: string;
  readonly path: string;
  readonly model: string;
  readonly request: RequestKind;
  /** The provider's response, whatever the request is. */
  readonly response: ResponseKind;
  /** API keys, used in rotation. */
  readonly keys: readonly string[];
  /** In addition to the content type. One may be the credential, in place of the keys. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Calls as fast as the target responds, with this concurrency. */
export interface ClosedOrder {
  readonly kind: 'closed';
  readonly call: CallShape;
  readonly connections: number;
  readonly seconds: number;
}

/** This many calls per second, whether or not earlier ones have ended. */
export interface OpenOrder {
  readonly kind: 'open';
  readonly call: CallShape;
  readonly callsPerSecond: number;
  readonly seconds: number;
}

/** Starts this many streams; reports once each has received its first chunk. */
export interface BeginStreamsOrder {
  readonly kind: 'begin streams';
  readonly call: CallShape;
  readonly streams: number;
}

/** Sends chunks on all streams in rotation; reports their latencies. */
export interface WatchStreamsOrder {
  readonly kind: 'watch streams';
  readonly seconds: number;
}

/** Ends all streams; reports once all clients have seen the end. */
export interface EndStreamsOrder {
  readonly kind: 'end streams';
}

export type LoadOrder = ClosedOrder | OpenOrder | BeginStreamsOrder | WatchStreamsOrder | EndStreamsOrder;

/** The result of an order. */
export interface LoadResult {
  /** Successful calls; for streams, chunks that arrived. */
  readonly done: number;
  readonly failures: number;
  /** The first failure, for the report. */
  readonly firstFailure: string | null;
  /** Bytes in the bodies of successful requests. */
  readonly requestBytes: number;
  readonly elapsedMs: number;
  /**
   * Latency of a call from when it is sent to the end of its response; at a fixed rate from when it is due; of a chunk from provider to
   * client. `null` if nothing was done.
   */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly p999Ms: number | null;
}
