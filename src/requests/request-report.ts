import type { Principal } from '../accounting/accounts/principals.ts';
import type { CallOutcome } from '../accounting/calls/call-outcome.ts';
import type { CallReport, Context } from '../calls/call-request.ts';
import type { CallTrace } from '../calls/call-trace.ts';
import { type Arrival, HttpReport, type OpenHttpReport } from '../http/http-report.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

/**
 * How a request ended:
 * - `succeeded`, `failed`, `aborted`: as the call record says; without a call, whether there was a whole response, the
 *   gateway failed, or the client left.
 * - `refused`: it got an error before there was a call.
 * - `repeated`: it got the stored response of an earlier call.
 */
export type RequestEnd = 'succeeded' | 'failed' | 'aborted' | 'refused' | 'repeated';

/**
 * A request and what became of it: made once for each, when its response is closed and its call, if any, has ended. Log,
 * records, metrics and traces are made of it.
 */
export type RequestReport = Readonly<Omit<OpenReport, 'failed' | 'sentPastResponse' | 'enter' | 'leave' | 'closed'>>;

/** Gets every report. It returns at once; what it throws is logged and goes no further. */
export type RequestObserver = (report: RequestReport) => void;

/** A report that is being filled in. Observers read it as it is, without a copy. What it says of a call is described in `CallReport`. */
export class OpenReport extends HttpReport implements CallReport {
  context: Context | null = null;
  principal: Principal | null = null;
  isStream = false;
  modelAsked: string | null = null;
  model: string | null = null;
  callId: string | null = null;
  isAdmitted = false;
  isRepeat = false;
  outcome: CallOutcome | null = null;
  chunks = 0;
  readonly startedAtMs: number;
  /** From the arrival of the head to the end of the response. */
  durationMs = 0;
  /** Set when the report is complete. */
  end: RequestEnd = 'aborted';
  /** Set when the report is complete: the code of the response, or else of the call's end, such as of an error inside of a stream. */
  errorCode: string | null = null;
  readonly trace: CallTrace | null;
  readonly #nowMs: () => number;
  readonly #arrivedMs: number;
  readonly #onOver: (report: OpenReport) => void;

  constructor(
    arrival: Arrival,
    { clock, monotonicMs: nowMs, openTrace }: Pick<ReportOptions, 'clock' | 'monotonicMs' | 'openTrace'>,
    onOver: (report: OpenReport) => void,
  ) {
    super(arrival);
    this.#onOver = onOver;
    this.startedAtMs = clock.nowMs();
    this.trace = arrival.kind === 'call' && openTrace !== null ? openTrace(arrival.traceparent) : null;
    this.#nowMs = nowMs;
    this.#arrivedMs = nowMs();
  }

  override closed(status: number | null, isWhole: boolean): void {
    this.durationMs = this.#nowMs() - this.#arrivedMs;
    super.closed(status, isWhole);
  }

  protected override over(): void {
    this.errorCode = this.responseCode ?? this.outcome?.errorCode ?? null;
    this.end = this.#howItEnded();
    this.#onOver(this);
  }

  #howItEnded(): RequestEnd {
    const { outcome } = this;
    if (outcome !== null) return outcome.status;
    if (this.isAdmitted || this.errorKind === 'internal' || this.errorKind === 'databaseSilent') return 'failed';
    if (this.kind === 'connection') return 'refused';
    if (this.status === null) return 'aborted';
    if (this.isRepeat) return 'repeated';
    if (this.errorKind !== null) return 'refused';
    if (this.status >= 500) return 'failed';
    return this.isWhole ? 'succeeded' : 'aborted';
  }
}

/** Begins the trace of a call, given the client's `traceparent`, in which anything may stand. */
export type OpenTrace = (traceparent: string | null) => CallTrace;

interface ReportOptions {
  readonly clock: Clock;
  /** A clock in milliseconds that never goes back. */
  readonly monotonicMs: () => number;
  readonly logger: Logger;
  readonly observers: readonly RequestObserver[];
  /** `null`: calls are not traced. */
  readonly openTrace: OpenTrace | null;
}

/** Makes the reports of requests, and gives each to the observers when it is complete. */
export function createReports(options: ReportOptions): OpenHttpReport {
  const { logger, observers } = options;
  let hasWarned = false;

  function tell(report: OpenReport): void {
    for (const observe of observers) {
      try {
        observe(report);
      } catch (error) {
        // What fails for one request is likely to fail for all.
        if (!hasWarned) logger.error({ err: error }, 'a request could not be reported; this is said once');
        hasWarned = true;
      }
    }
  }

  return (arrival) => new OpenReport(arrival, options, tell);
}

/** The report of a request of a server that is observed. */
export function reportOf({ report }: { readonly report: HttpReport | null }): OpenReport {
  if (report instanceof OpenReport) return report;
  throw new Error('the server makes no reports');
}
