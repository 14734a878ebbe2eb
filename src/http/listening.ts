import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';

const IDLE_SWEEP_MS = 50;

/** Stops listening. Idle connections are closed at once, busy ones after their response, and all of them after the timeout. */
export async function closeServer(app: FastifyInstance, timeoutMs: number): Promise<void> {
  const closed = app.close();
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const limit = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
  try {
    await closed;
  } finally {
    clearInterval(sweep);
    clearTimeout(limit);
  }
}

export function addressOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Returns the URL of the server, with the configured port if it does not listen yet. */
export function ownUrl(app: FastifyInstance, { host, port }: { readonly host: string; readonly port: number }): string {
  return app.server.address() === null ? `http://${host}:${port}` : addressOf(app, host);
}
