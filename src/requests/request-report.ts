import type { Principal } from '../accounting/accounts/principals.ts';
import type { CallOutcome } from '../accounting/calls/call-outcome.ts';
import type { CallReport, Context } from '../calls/call-request.ts';
import type { CallTrace } from '../calls/call-trace.ts';
import { type Arrival, HttpReport, type OpenHttpReport } from '../http/http-report.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

/**
 * How a request ended. `succeeded`, `failed`, `aborted`: as in the call record; without a call: the response was complete, the gateway
 * failed, or the client left. `refused`: an error before there was a call. `repeated`: the stored response of an earlier call.
 */
export type RequestEnd = 'succeeded' | 'failed' | 'aborted' | 'refused' | 'repeated';

/** What is known of a request once its response is closed and its call, if any, has ended. Logs, records, metrics and traces use it. */
export type RequestReport = Readonly<Omit<OpenReport, 'failed' | 'sentPastResponse' | 'enter' | 'leave' | 'closed'>>;

/** Receives reports. It must return immediately. Its errors are logged, not passed on. */
export type RequestObserver = (report: RequestReport) => void;

/** The report while it is being filled; observers get this object itself. `CallReport` describes the members about the call. */
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
  /** Milliseconds from the arrival of the request's head to the end of the response. */
  durationMs = 0;
  /** How the request ended. Set when the report is complete. */
  end: RequestEnd = 'aborted';
  /** Error code of the response or, if it has none, of the call, such as for an error within a stream. Set when the report is complete. */
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

/** Begins a trace. `traceparent`: the client's header, which was not validated. */
export type OpenTrace = (traceparent: string | null) => CallTrace;

interface ReportOptions {
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly logger: Logger;
  readonly observers: readonly RequestObserver[];
  /** Begins a trace for a call; `null`: calls are not traced. */
  readonly openTrace: OpenTrace | null;
}

export function createReports(options: ReportOptions): OpenHttpReport {
  const { logger, observers } = options;
  let hasWarned = false;

  function notify(report: OpenReport): void {
    for (const observe of observers) {
      try {
        observe(report);
      } catch (error) {
        // Logged once, because an observer that fails for one request probably fails for all.
        if (!hasWarned)
          logger.error(
            { err: error },
            'reporting a request to the log or the metrics failed; further failures are not logged',
          );
        hasWarned = true;
      }
    }
  }

  return (arrival) => new OpenReport(arrival, options, notify);
}

/** Returns the report of an exchange. @throws if the server has no observers */
export function reportOf({ report }: { readonly report: HttpReport | null }): OpenReport {
  if (report instanceof OpenReport) return report;
  throw new Error('the server has no reports');
}
