import { BALANCE_QUERY } from '../api/queries/query.ts';
import { scrub } from '../providers/upstream/secrets.ts';
import type { RefusalRecorder } from '../requests/refusal-recorder.ts';
import type { Refusal } from '../requests/refusals-store.ts';
import type { RequestObserver, RequestReport } from '../requests/request-report.ts';

/** The most of a text that the client chose, or that may quote it. */
const TEXT_LENGTH_MAX = 500;
const MODEL_LENGTH_MAX = 200;

/** Records refused requests, unless `isOff` (`docs/logging.md`). */
export function createRefusalRecords(recorder: RefusalRecorder, isOff: () => boolean): RequestObserver {
  return (report) => {
    if (!isRecorded(report) || isOff()) return;
    recorder.record(report.principal?.accountId ?? null, report.errorCode ?? 'unknown', () => toRefusal(report));
  };
}

/**
 * Refusals of public addresses, and of what is none. Queries of balances leave no record (contract 4.10), nor do health checks,
 * requests of operators, and connections that were closed before any request.
 */
function isRecorded({ end, kind, operation }: Pick<RequestReport, 'end' | 'kind' | 'operation'>): boolean {
  if (end !== 'refused' || operation === BALANCE_QUERY) return false;
  return kind === 'call' || kind === 'estimate' || kind === 'query' || kind === 'unknown';
}

function toRefusal(report: RequestReport): Refusal {
  const { modelAsked, errorMessage, errorParam } = report;
  return {
    id: report.requestId,
    atMs: report.startedAtMs,
    count: 1,
    accountId: report.principal?.accountId ?? null,
    keyId: report.principal?.keyId ?? null,
    clientRequestId: report.clientRequestId,
    clientAddress: report.clientAddress === '' ? null : report.clientAddress,
    method: report.method,
    path: report.path,
    operation: report.operation,
    model: modelAsked === null ? null : storable(modelAsked, MODEL_LENGTH_MAX),
    status: report.status,
    code: report.errorCode ?? 'unknown',
    message: errorMessage === null ? null : storable(errorMessage, TEXT_LENGTH_MAX),
    param: errorParam === null ? null : storable(errorParam, MODEL_LENGTH_MAX),
  };
}

/** What the database can store of a text that may quote the client: shortened, without keys, addresses and control characters. */
function storable(text: string, lengthMax: number): string {
  return scrub(text.slice(0, lengthMax), []).toWellFormed();
}
