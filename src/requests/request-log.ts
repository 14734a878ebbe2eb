import type { Config } from '../config/schema.ts';
import type { Logger } from '../lib/logger.ts';
import { formatYuan } from '../lib/yuan.ts';
import { inputTokensOf, outputTokensOf } from '../protocols/metering/usage-facts.ts';
import { removeSecrets } from '../providers/upstream/secrets.ts';
import type { RequestObserver, RequestReport } from './request-report.ts';
import type { UnpricedUses } from './unpriced-uses.ts';

type Mode = Config['log']['requests'];

const CLIENT_TEXT_LENGTH_MAX = 200;

/** Logs requests. `log.requests` selects which ones (`docs/logging.md`). */
export function createRequestLog(logger: Logger, mode: () => Mode): RequestObserver {
  return (report) => {
    if (!isLogged(report, mode())) return;
    const line = requestLine(report);
    if (report.end === 'failed') logger.warn(line, 'request');
    else logger.info(line, 'request');
  };
}

/** Whether a request is logged. Not logged are successful health checks, and refused connections, which the server logs itself. */
function isLogged({ kind, end }: Pick<RequestReport, 'kind' | 'end'>, mode: Mode): boolean {
  if (mode === 'none' || kind === 'connection') return false;
  if (mode === 'refused') return end === 'refused';
  return kind !== 'health' || end !== 'succeeded';
}

/** Returns the details of a log line. A field that is `undefined` is left out. */
function requestLine(report: RequestReport): object {
  const { outcome, principal, model, modelAsked, errorMessage } = report;
  const usage = outcome?.usage ?? null;
  const chargeNano = outcome?.chargeNano ?? null;
  return {
    requestId: report.requestId,
    clientRequestId: report.clientRequestId ?? undefined,
    providerRequestId: outcome === null || outcome.requestId === report.requestId ? undefined : outcome.requestId,
    callId: report.callId ?? undefined,
    accountId: principal?.accountId,
    keyId: principal?.keyId,
    // The ellipsis is removed, so that the line is usually ASCII: an ASCII line takes a third of the time to scan and write.
    keyPrefix: principal?.keyPrefix.replace('…', ''),
    clientAddress: report.clientAddress,
    method: report.method ?? undefined,
    path: report.path ?? undefined,
    operation: report.operation ?? undefined,
    context: report.context ?? undefined,
    model: model ?? undefined,
    modelAsked: modelAsked === null || modelAsked === model ? undefined : clientText(modelAsked),
    provider: outcome?.provider,
    providerModel: outcome?.providerModel,
    failedRoutes: outcome === null || outcome.failedRoutes.length === 0 ? undefined : outcome.failedRoutes,
    isStream: report.isStream || undefined,
    end: report.end,
    status: report.status ?? undefined,
    code: report.errorCode ?? undefined,
    param: report.errorParam === null ? undefined : clientText(report.errorParam),
    reason: errorMessage === null || outcome !== null ? undefined : clientText(errorMessage),
    inputTokens: usage === null ? undefined : inputTokensOf(usage),
    outputTokens: usage === null ? undefined : outputTokensOf(usage),
    usage: usage?.source,
    chargeYuan: chargeNano === null ? undefined : formatYuan(chargeNano),
    durationMs: Math.round(report.durationMs),
    firstByteMs: outcome?.firstByteMs ?? undefined,
    chunks: report.chunks === 0 ? undefined : report.chunks,
  };
}

/** Returns a text of the client without secrets: it may have sent its key in the wrong place. */
function clientText(text: string): string {
  const kept = removeSecrets(text.slice(0, CLIENT_TEXT_LENGTH_MAX), []);
  return text.length <= CLIENT_TEXT_LENGTH_MAX ? kept : `${kept}…`;
}

/** Logs warnings about charges. `docs/logging.md` describes the lines. */
export function createChargeWarnings(logger: Logger, unpricedUses: UnpricedUses): RequestObserver {
  return ({ outcome }) => {
    if (outcome?.notes === undefined) return;
    const { callId, model, provider, notes } = outcome;
    const { excess, unpriced, reservedNano } = notes;
    if (excess !== undefined) logger.warn({ callId, model, provider, excess }, EXCESS);
    if (unpriced !== undefined) unpricedUses.note(callId, model, provider, unpriced);
    if (reservedNano !== undefined) logger.warn({ callId, model }, ABOVE_RESERVATION);
  };
}

const ABOVE_RESERVATION = 'the estimated usage exceeds the reservation: the model has no maxOutputTokens';
const EXCESS = 'a provider reported more than its model can use; the excess is not charged';
