import type { Dispatcher, Pool } from 'undici';
import type { LoadResult } from './order.ts';

/** Callbacks of one request. */
export interface Heard {
  onStart?(controller: Dispatcher.DispatchController): void;
  /** For a response with status 200. */
  onData?(data: Buffer): void;
  /** Called once, with the failure: an error, or another status than 200 with its body; `null` for success. */
  onEnd(failure: string | null): void;
}

export function send(pool: Pool, request: Dispatcher.DispatchOptions, heard: Heard): void {
  let status = 0;
  let refusal = '';
  pool.dispatch(request, {
    onRequestStart: (controller) => heard.onStart?.(controller),
    onResponseStart: (_controller, received) => {
      status = received;
    },
    onResponseData(_controller, data) {
      if (status === 200) heard.onData?.(data);
      else refusal += data.toString();
    },
    onResponseEnd: () => heard.onEnd(status === 200 ? null : `${status} ${refusal}`),
    onResponseError: (_controller, error) => heard.onEnd(String(error)),
  });
}

/** Counts failures, and keeps the first one for the report. */
export interface FailureCount {
  add(why: string): void;
  /** The failures counted since the last call. */
  take(): Pick<LoadResult, 'failures' | 'firstFailure'>;
}

/** How much of a failed response is reported. */
const FAILURE_CHARACTERS = 300;

export function createFailureCount(): FailureCount {
  let failures = 0;
  let firstFailure: string | null = null;
  return {
    add(why) {
      failures++;
      firstFailure ??= why.slice(0, FAILURE_CHARACTERS);
    },
    take() {
      const taken = { failures, firstFailure };
      [failures, firstFailure] = [0, null];
      return taken;
    },
  };
}
