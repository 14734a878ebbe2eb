import type { CallTrace, TracedAttempt } from '../calls/call-trace.ts';
import type { TraceContext } from '../lib/trace-context.ts';
import { formatYuan } from '../lib/yuan.ts';
import { inputTokensOf, outputTokensOf } from '../protocols/metering/usage-facts.ts';
import type { OperationName } from '../protocols/operations/all.ts';
import type { RequestReport } from '../requests/request-report.ts';

type SpanAttributes = Record<string, string | number | boolean>;

/** A span, as a type that does not need the OpenTelemetry packages. */
export interface CallSpan {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly context: TraceContext;
  readonly parent: TraceContext | null;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly isError: boolean;
  readonly attributes: SpanAttributes;
  readonly events: readonly { readonly name: string; readonly atMs: number }[];
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

interface CallSpanSources {
  readonly nextSpanId: () => string;
  /** Returns the address of a provider; `null` if it is no longer configured. */
  readonly providerAddress: (provider: string) => ServerAddress | null;
}

/** Names by OpenTelemetry's GenAI conventions; our own for operations that these do not name. */
const OPERATION_NAMES: Readonly<Record<OperationName, string>> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  compact: 'compact',
  completions: 'text_completion',
  embeddings: 'embeddings',
  rerank: 'rerank',
  'images.generate': 'generate_content',
  'images.edit': 'generate_content',
};

/**
 * Creates the spans of a call, that of the request first (`docs/tracing.md`), without text of the client, keys or a provider's messages.
 */
export function callSpans(report: RequestReport, trace: CallTrace, sources: CallSpanSources): CallSpan[] {
  const { context } = trace;
  const operation = OPERATION_NAMES[report.operation as OperationName] ?? report.operation ?? 'call';
  const inner = (name: string, { startedAtMs, endedAtMs }: { startedAtMs: number; endedAtMs: number }): CallSpan => ({
    name,
    kind: 'internal',
    context: { ...context, spanId: sources.nextSpanId() },
    parent: context,
    startedAtMs,
    endedAtMs,
    isError: false,
    attributes: {},
    events: [],
  });
  const children = [
    ...(trace.admission === null ? [] : [inner('admission', trace.admission)]),
    ...trace.attempts.map((attempt, i) =>
      attemptSpan(attempt, { operation, report, trace, sources, isLast: i === trace.attempts.length - 1 }),
    ),
    ...(trace.settlement === null ? [] : [inner('settlement', trace.settlement)]),
  ];
  const endedAtMs = Math.max(report.startedAtMs + report.durationMs, ...children.map((child) => child.endedAtMs));
  return [requestSpan(report, trace, operation, endedAtMs), ...children];
}

function requestSpan(report: RequestReport, trace: CallTrace, operation: string, endedAtMs: number): CallSpan {
  const { outcome, principal } = report;
  const usage = outcome?.usage ?? null;
  const chargeNano = outcome?.chargeNano ?? null;
  return {
    name: spanName(operation, report.model),
    kind: 'server',
    context: trace.context,
    parent: trace.parent,
    startedAtMs: report.startedAtMs,
    endedAtMs,
    isError: report.end === 'failed',
    attributes: known({
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': outcome?.provider ?? null,
      'gen_ai.request.model': report.model,
      'gen_ai.usage.input_tokens': usage === null ? null : inputTokensOf(usage),
      'gen_ai.usage.output_tokens': usage === null ? null : outputTokensOf(usage),
      'http.request.method': report.method,
      'http.route': report.path,
      'http.response.status_code': report.status,
      'error.type': report.errorCode ?? (report.end === 'failed' ? '_OTHER' : null),
      'faregate.request_id': report.requestId,
      'faregate.call_id': report.callId,
      'faregate.account_id': principal?.accountId ?? null,
      'faregate.key_id': principal?.keyId ?? null,
      'faregate.context': report.context,
      'faregate.end': report.end,
      'faregate.is_stream': report.isStream,
      'faregate.provider_model': outcome?.providerModel ?? null,
      'faregate.usage_source': usage?.source ?? null,
      'faregate.charge_yuan': chargeNano === null ? null : formatYuan(chargeNano),
    }),
    events: [],
  };
}

interface AttemptOf {
  readonly operation: string;
  readonly report: RequestReport;
  readonly trace: CallTrace;
  readonly sources: CallSpanSources;
  readonly isLast: boolean;
}

function attemptSpan(attempt: TracedAttempt, { operation, report, trace, sources, isLast }: AttemptOf): CallSpan {
  const { outcome } = report;
  const server = sources.providerAddress(attempt.provider);
  const hasFirstByte = isLast && outcome !== null && outcome.firstByteMs !== null;
  return {
    name: spanName(operation, attempt.providerModel),
    kind: 'client',
    context: { ...trace.context, spanId: attempt.spanId },
    parent: trace.context,
    startedAtMs: attempt.startedAtMs,
    endedAtMs: attempt.endedAtMs,
    isError: attempt.errorCode !== null,
    attributes: known({
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': attempt.provider,
      'gen_ai.request.model': attempt.providerModel,
      'server.address': server?.host ?? null,
      'server.port': server?.port ?? null,
      'error.type': attempt.errorCode,
    }),
    events: hasFirstByte ? [{ name: 'first byte', atMs: outcome.startedAtMs + outcome.firstByteMs! }] : [],
  };
}

function spanName(operation: string, model: string | null): string {
  return model === null ? operation : `${operation} ${model}`;
}

function known(attributes: Record<string, string | number | boolean | null>): SpanAttributes {
  const kept: SpanAttributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== null && value !== undefined) kept[name] = value;
  }
  return kept;
}
