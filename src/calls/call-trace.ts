import { formatTraceparent, parseTraceparent, type TraceContext, validTracestate } from '../lib/trace-context.ts';

interface TimeSpan {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

export interface TracedAttempt extends TimeSpan {
  readonly spanId: string;
  readonly provider: string;
  readonly providerModel: string;
  /** `null`: the attempt succeeded. */
  readonly errorCode: string | null;
}

export interface OpenAttempt {
  readonly spanId: string;
  readonly startedAtMs: number;
}

const ATTEMPTS_MAX = 32;

/** Collects the times of a call while it runs. Spans are created from them after the request has been reported. */
export class CallTrace {
  readonly context: TraceContext;
  /** The client's span, the parent of the request's; `null`: the trace begins here. */
  readonly parent: TraceContext | null;
  readonly attempts: TracedAttempt[] = [];
  admission: TimeSpan | null = null;
  settlement: TimeSpan | null = null;
  readonly #nextSpanId: () => string;

  constructor(context: TraceContext, parent: TraceContext | null, nextSpanId: () => string) {
    this.context = context;
    this.parent = parent;
    this.#nextSpanId = nextSpanId;
  }

  /** Assigns the span id at the beginning, because the request to the provider contains it. */
  beginAttempt(nowMs: number): OpenAttempt {
    return { spanId: this.#nextSpanId(), startedAtMs: nowMs };
  }

  endAttempt(attempt: TracedAttempt): void {
    if (this.attempts.length < ATTEMPTS_MAX) this.attempts.push(attempt);
  }
}

export interface ClientTrace {
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  readonly trace: CallTrace | null;
}

/** Trace headers for the provider: those of the attempt, or the client's own if the attempt is not exported. */
export function traceHeaders(
  { traceparent, tracestate, trace }: ClientTrace,
  attempt: OpenAttempt | null,
): TraceHeaders {
  const parent = parseTraceparent(traceparent);
  const isOwn = trace !== null && attempt !== null && (trace.context.isSampled || parent === null);
  if (!isOwn && parent === null) return {};
  const sent = isOwn ? { ...trace.context, spanId: attempt.spanId } : parent!;
  const state = parent === null ? null : validTracestate(tracestate);
  return { traceparent: formatTraceparent(sent), ...(state === null ? {} : { tracestate: state }) };
}

interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}
