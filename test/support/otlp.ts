import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOnLoopback } from './loopback.ts';

/** An exported span, with its attributes as an object. */
export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly statusCode: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly atNano: bigint }[];
}

/** A collector on loopback for OTLP over HTTP in JSON. */
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** The text of all requests, to be searched. */
  bytes(): Buffer;
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Resource attributes of the last export. */
  resource: Readonly<Record<string, unknown>>;
  /** Status of the responses from now on. */
  status: number;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    bodies.push(Buffer.from(JSON.stringify(request.headers)), body);
    receiver.requests.push({ path: request.url ?? '', headers: request.headers });
    if (receiver.status === 200) take(JSON.parse(body.toString()));
    response.writeHead(receiver.status, { 'content-type': 'application/json' }).end('{}');
  });

  // biome-ignore lint/suspicious/noExplicitAny: a document of the protocol
  function take(document: any): void {
    for (const { resource, scopeSpans } of document.resourceSpans) {
      receiver.resource = plain(resource.attributes);
      for (const { spans } of scopeSpans) {
        for (const span of spans) {
          receiver.spans.push({
            name: span.name,
            kind: span.kind,
            traceId: span.traceId,
            spanId: span.spanId,
            parentSpanId: span.parentSpanId,
            startNano: BigInt(span.startTimeUnixNano),
            endNano: BigInt(span.endTimeUnixNano),
            statusCode: span.status?.code ?? 0,
            attributes: plain(span.attributes),
            events: (span.events ?? []).map((event: { name: string; timeUnixNano: string }) => ({
              name: event.name,
              atNano: BigInt(event.timeUnixNano),
            })),
          });
        }
      }
    }
  }

  const { port, close } = await listenOnLoopback(server);
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${port}`,
    spans: [],
    requests: [],
    resource: {},
    status: 200,
    bytes: () => Buffer.concat(bodies),
    close,
  };
  return receiver;
}

function plain(attributes: readonly { key: string; value: Record<string, unknown> }[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [[type, held] = []] = Object.entries(value);
      return [key, type === 'intValue' ? Number(held) : held];
    }),
  );
}
