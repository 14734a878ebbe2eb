import { CallTrace } from '../calls/call-trace.ts';
import type { Config, TracingConfig } from '../config/schema.ts';
import type { Logger } from '../lib/logger.ts';
import { createTraceIds, isInSample, parseTraceparent } from '../lib/trace-context.ts';
import type { OpenTrace, RequestObserver } from '../requests/request-report.ts';
import { callSpans, type ServerAddress } from './call-spans.ts';
import { EXPORT_TIMING, type ExportTiming, loadSpanExporter } from './span-exporter.ts';

/** Traces of calls. A trace begins with its request; its spans are created from the report of the request. */
interface Traces {
  readonly openTrace: OpenTrace;
  readonly observer: RequestObserver;
  /** Exports the remaining spans, in at most two seconds. */
  close(): Promise<void>;
}

export interface TracesOptions {
  readonly tracing: TracingConfig;
  /** Returns the providers, whose addresses are in spans. */
  readonly providers: () => Config['providers'];
  readonly logger: Logger;
  readonly monotonicMs: () => number;
  readonly timing?: ExportTiming | undefined;
}

/** Creates traces. @throws if the OpenTelemetry packages are not installed */
export async function createTraces(options: TracesOptions): Promise<Traces> {
  const { tracing, providers, logger, monotonicMs: nowMs, timing = EXPORT_TIMING } = options;
  const sink = await loadSpanExporter(tracing, { logger, nowMs, timing });
  const ids = createTraceIds();
  const sources = {
    nextSpanId: ids.spanId,
    providerAddress: (provider: string) => addressOf(providers()[provider]?.baseUrl),
  };
  return {
    openTrace(traceparent) {
      const parent = parseTraceparent(traceparent);
      const traceId = parent?.traceId ?? ids.traceId();
      const isSampled = parent?.isSampled ?? isInSample(traceId, tracing.sampleRatio);
      return new CallTrace({ traceId, spanId: ids.spanId(), isSampled }, parent, ids.spanId);
    },
    observer(report) {
      const { trace } = report;
      if (trace === null || !trace.context.isSampled) return;
      for (const span of callSpans(report, trace, sources)) sink.add(span);
    },
    close: () => sink.close(),
  };
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

function addressOf(baseUrl: string | undefined): ServerAddress | null {
  if (baseUrl === undefined) return null;
  const { hostname, port, protocol } = new URL(baseUrl);
  return { host: hostname, port: port === '' ? DEFAULT_PORTS[protocol]! : Number(port) };
}
