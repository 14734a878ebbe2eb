import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallAdmission } from '../../calls/admission.ts';
import type { CallRunner } from '../../calls/call-runner.ts';
import type { IdempotentCalls } from '../../calls/idempotency/idempotent-call.ts';
import type { RequestWorkers } from '../../calls/request-workers.ts';
import type { Settings } from '../../calls/settings.ts';
import type { BodyBudgets } from '../../http/body-budgets.ts';
import type { HttpReport } from '../../http/http-report.ts';
import type { TimeShares } from '../../lib/fair/time-shares.ts';
import { type OpenReport, reportOf } from '../../requests/request-report.ts';
import type { QuerySources } from '../queries/query.ts';
import type { Endpoint } from './endpoint.ts';
import type { RefusalSubject, Refusals } from './refusals.ts';

export interface EndpointDependencies {
  readonly refusals: Refusals;
  readonly calls: CallRunner;
  readonly idempotentCalls: IdempotentCalls;
  readonly admission: Pick<CallAdmission, 'precheck'>;
  readonly settings: () => Settings;
  readonly querySources: QuerySources;
  /** Limits the time that each caller's lists of models take. */
  readonly listShares: TimeShares;
  readonly requestWorkers: RequestWorkers;
  readonly bodyBudgets: BodyBudgets;
  readonly spoolDirectory: string;
}

export interface ServedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly report: HttpReport | null;
}

export interface Visit<Served> {
  readonly served: Served;
  readonly settings: Settings;
  readonly report: OpenReport;
  readonly subject: RefusalSubject;
}

export abstract class EndpointHandler<Row extends Endpoint, Served extends ServedRequest> {
  protected readonly endpoint: Row;
  protected readonly dependencies: EndpointDependencies;

  constructor(endpoint: Row, dependencies: EndpointDependencies) {
    this.endpoint = endpoint;
    this.dependencies = dependencies;
  }

  /** Serves a request. @throws GatewayError if it fails before its response has begun */
  async handle(served: Served): Promise<void> {
    const { refusals } = this.dependencies;
    const settings = this.dependencies.settings();
    const report = reportOf(served);
    if ('context' in this.endpoint) report.context = this.endpoint.context;
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
