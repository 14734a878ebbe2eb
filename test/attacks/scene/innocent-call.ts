/** The outcome of a request of the innocent caller, or of its console. */
export interface InnocentCall {
  readonly kind: string;
  readonly startedAtMs: number;
  readonly tookMs: number;
  /** `null` for success. */
  readonly failure: string | null;
}

/** The kind of request of the console. */
export const LOOK = 'console';
