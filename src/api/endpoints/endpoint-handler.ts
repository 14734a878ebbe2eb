import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '../../calls/call-request.ts';
import type { IsRepeat } from '../../calls/idempotency/idempotent-call.ts';
import type { Settings } from '../../calls/settings.ts';
import type { BodyBudgets } from '../../http/body-budgets.ts';
import type { HttpReport } from '../../http/http-report.ts';
import { type OpenReport, reportOf } from '../../requests/request-report.ts';
import type { RefusalSubject, Refusals } from './refusals.ts';

/** What endpoints of all kinds use. */
export interface HandlerParts {
  readonly refusals: Refusals;
  readonly settings: () => Settings;
  readonly bodyBudgets: BodyBudgets;
  readonly isRepeat: IsRepeat;
}

/** A request and its response, whether or not the framework serves it. */
interface ServedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly report: HttpReport | null;
}

/** A request with what it is served with. */
export interface Visit<Served> {
  readonly served: Served;
  /** The settings in force when it arrived. */
  readonly settings: Settings;
  readonly report: OpenReport;
  readonly subject: RefusalSubject;
}

/** Serves the requests for one endpoint: what is the same for all endpoints. */
export abstract class EndpointHandler<Served extends ServedRequest> {
  readonly #parts: HandlerParts;
  readonly #context: Context | null;

  constructor(parts: HandlerParts, context: Context | null) {
    this.#parts = parts;
    this.#context = context;
  }

  /** @throws GatewayError if the request is refused or fails before its response has begun. */
  async handle(served: Served): Promise<void> {
    const { refusals } = this.#parts;
    const settings = this.#parts.settings();
    const report = reportOf(served);
    report.context = this.#context;
    const subject = refusals.subjectOf(served.request);
    settings.inFlight.enter();
    report.enter();
    try {
      await this.respond({ served, settings, report, subject });
      refusals.served(subject);
    } catch (error) {
      await refusals.slowDown(subject, error, served.response);
      throw error;
    } finally {
      report.leave();
      settings.inFlight.leave();
    }
  }

  protected abstract respond(visit: Visit<Served>): Promise<void>;
}
