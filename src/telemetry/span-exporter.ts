import type { HrTime, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../config/schema.ts';
import { InTime } from '../lib/in-time.ts';
import type { Logger } from '../lib/logger.ts';
import type { TraceContext } from '../lib/trace-context.ts';
import { programVersion } from '../lib/version.ts';
import type { CallSpan } from './call-spans.ts';

interface SpanSink {
  /** Adds a span. If the queue is full, the span is dropped. */
  add(span: CallSpan): void;
  /** Exports the remaining spans, in at most two seconds. */
  close(): Promise<void>;
}

export interface ExportTiming {
  /** How long a span waits to be exported together with others. */
  readonly delayMs: number;
}

export const EXPORT_TIMING: ExportTiming = { delayMs: 5_000 };

/** Packages for tracing, which are optional peer dependencies in `package.json`. */
const TRACING_PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/exporter-trace-otlp-http',
] as const;

const QUEUE_LENGTH_MAX = 4096;
const BATCH_LENGTH_MAX = 512;
const EXPORT_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 2_000;
const WARNING_INTERVAL_MS = 60_000;
const REASON_LENGTH_MAX = 200;

const KINDS = { internal: 0, server: 1, client: 2 } as const;
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;
const EXPORTED = 0;

/** Loads the packages and creates an exporter. @throws if they are not installed */
export async function loadSpanExporter(
  { endpoint, headers, serviceName }: TracingConfig,
  { logger, nowMs, timing }: { readonly logger: Logger; readonly nowMs: () => number; readonly timing: ExportTiming },
): Promise<SpanSink> {
  const [{ OTLPTraceExporter }, { BatchSpanProcessor }, { resourceFromAttributes }] = await loadPackages();
  const resource = resourceFromAttributes({ 'service.name': serviceName, 'service.version': programVersion() });
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const processor = new BatchSpanProcessor({
    exporter: withWarnings(exporter, logger, nowMs),
    maxQueueSize: QUEUE_LENGTH_MAX,
    maxExportBatchSize: BATCH_LENGTH_MAX,
    scheduledDelayMillis: timing.delayMs,
  });
  return {
    add: (span) => processor.onEnd(readable(span, resource)),
    async close() {
      await new InTime(CLOSE_TIMEOUT_MS).of(processor.shutdown()).catch(() => undefined);
    },
  };
}

function loadPackages() {
  return Promise.all([
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
  ]).catch((error: unknown) => {
    throw missingPackages(error);
  });
}

/** Converts the error of a package that is not installed to one that says how to install it. Returns other errors unchanged. */
export function missingPackages(error: unknown): unknown {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') return error;
  const message = `The "tracing" section of the configuration needs packages that are not installed. Install them (npm install --no-save ${TRACING_PACKAGES.join(' ')}), or remove the section.`;
  return new Error(message, { cause: error });
}

/** Logs failures at most once a minute, and does not pass them on. */
function withWarnings(exporter: SpanExporter, logger: Logger, nowMs: () => number): SpanExporter {
  let lostSpans = 0;
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  return {
    export(spans, done) {
      exporter.export(spans, ({ code, error }) => {
        if (code !== EXPORTED) {
          lostSpans += spans.length;
          if (nowMs() - warnedAtMs >= WARNING_INTERVAL_MS) {
            const reason = (error?.message ?? 'unknown').slice(0, REASON_LENGTH_MAX);
            logger.warn({ spans: lostSpans, reason }, 'failed to export spans; they are lost');
            warnedAtMs = nowMs();
            lostSpans = 0;
          }
        }
        done({ code: EXPORTED });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

const SCOPE = { name: 'faregate' };

function readable(span: CallSpan, resource: Resource): ReadableSpan {
  const context = spanContext(span.context, false);
  const startTime = hrTime(span.startedAtMs);
  const endTime = hrTime(Math.max(span.startedAtMs, span.endedAtMs));
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => context,
    ...(span.parent === null ? {} : { parentSpanContext: spanContext(span.parent, span.kind === 'server') }),
    startTime,
    endTime,
    duration: hrTime(Math.max(0, span.endedAtMs - span.startedAtMs)),
    status: { code: span.isError ? STATUS_ERROR : STATUS_UNSET },
    attributes: span.attributes,
    events: span.events.map(({ name, atMs }) => ({ name, time: hrTime(atMs) })),
    links: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function spanContext({ traceId, spanId, isSampled }: TraceContext, isRemote: boolean): SpanContext {
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote };
}

function hrTime(ms: number): HrTime {
  const micros = Math.round(ms * 1_000);
  const seconds = Math.floor(micros / 1_000_000);
  return [seconds, (micros - seconds * 1_000_000) * 1_000];
}
