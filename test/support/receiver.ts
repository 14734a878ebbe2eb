import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts';
import { listenOnLoopback } from './loopback.ts';

/** A notice that a webhook received. */
export interface ReceivedNotice {
  readonly id: string;
  readonly path: string;
  readonly host: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  readonly body: any;
}

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

/** A webhook receiver on loopback. Tests decide its responses. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly received: ReceivedNotice[];
  respond: Reply;
  close(): Promise<void>;
}

export function status(code: number, headers: Record<string, string> = {}): Reply {
  return (response) => void response.writeHead(code, headers).end();
}

export async function startReceiver({ isTls = false } = {}): Promise<Receiver> {
  const received: ReceivedNotice[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { headers, url = '' } = request;
      const id = String(headers['webhook-id']);
      received.push({ id, path: url, host: String(headers.host), headers, text, body: JSON.parse(text) });
      receiver.respond(response, request);
    });
  };
  const server = isTls
    ? createTlsServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE }, listener)
    : createServer(listener);
  const { port, close } = await listenOnLoopback(server);
  const receiver: Receiver = {
    url: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    port,
    received,
    respond: status(204),
    close,
  };
  return receiver;
}

/** The contents of the notice. @throws if its signature is invalid */
export function verify(secret: string, { text, headers }: ReceivedNotice): unknown {
  return new Webhook(secret).verify(text, headers as Record<string, string>);
}
