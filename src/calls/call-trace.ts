import { formatTraceparent, parseTraceparent, type TraceContext, validTracestate } from '../lib/trace-context.ts';

/** From when to when a part of a call took place, by the clock of the node. */
interface TimeSpan {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** A request to a provider that was traced. */
export interface TracedAttempt extends TimeSpan {
  readonly spanId: string;
  readonly provider: string;
  readonly providerModel: string;
  /** The code of the error with which it ended; `null` where it succeeded. */
  readonly errorCode: string | null;
}

/** An attempt that is under way. */
export interface OpenAttempt {
  readonly spanId: string;
  readonly startedAtMs: number;
}

/** More attempts than that of one call are not noted. */
const ATTEMPTS_MAX = 32;

/** What a trace notes of a call while it runs; spans are made of it when the request has been reported. */
export class CallTrace {
  /** Of the span of the request. */
  readonly context: TraceContext;
  /** The client's span, of which this one is a child; `null` where the trace begins here. */
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

  /** Begins an attempt; its id exists before the request is sent. */
  beginAttempt(nowMs: number): OpenAttempt {
    return { spanId: this.#nextSpanId(), startedAtMs: nowMs };
  }

  endAttempt(attempt: TracedAttempt): void {
    if (this.attempts.length < ATTEMPTS_MAX) this.attempts.push(attempt);
  }
}

/** What a request says of the trace that it belongs to, as it came. */
export interface ClientTrace {
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** `null` if the call is not traced. */
  readonly trace: CallTrace | null;
}

/**
 * The headers by which a provider joins the trace: below the span of the attempt if that is exported; else as the client sent
 * them, so that its trace stays whole.
 */
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
