/** What became of a request of the innocent caller, or of the person of its account. */
export interface InnocentCall {
  readonly kind: string;
  readonly startedAtMs: number;
  readonly tookMs: number;
  /** `null` where the call got what it should. */
  readonly failure: string | null;
}

/** The kind of what the console of the person asks for. */
export const LOOK = 'console';
