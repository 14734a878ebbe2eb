import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Events, type MutableToken, OAuth2Issuer, OAuth2Service } from 'oauth2-mock-server';
import { listenOnLoopback } from './loopback.ts';

/** The claims of an ID token. */
export type Claims = Readonly<Record<string, unknown>>;

/** Handles a request wrongly, in place of the provider. */
export type Mischief = (request: IncomingMessage, response: ServerResponse) => void;

/** A real OpenID provider on loopback that checks PKCE and signs tokens. Tests can make it misbehave. */
export interface OpenIdProvider {
  readonly issuer: string;
  /** The user who signs in next. These claims override those that the token would have. */
  claims: Claims;
  /** By path, such as `/token`. */
  readonly mischief: Map<string, Mischief>;
  /** Whether it signs tokens wrongly. */
  signsWrong: boolean;
  /** Number of requests by path. */
  readonly requests: Map<string, number>;
  stop(): Promise<void>;
}

export async function startOpenIdProvider(): Promise<OpenIdProvider> {
  const issuer = new OAuth2Issuer();
  await issuer.keys.generate('RS256');
  const service = new OAuth2Service(issuer);
  const requests = new Map<string, number>();
  const mischief = new Map<string, Mischief>();
  const server = createServer((request, response) => {
    const path = new URL(request.url!, 'http://provider').pathname;
    requests.set(path, (requests.get(path) ?? 0) + 1);
    (mischief.get(path) ?? service.requestHandler)(request, response);
  });
  const { port, close } = await listenOnLoopback(server);
  issuer.url = `http://127.0.0.1:${port}`;
  const provider: OpenIdProvider = {
    issuer: issuer.url,
    claims: {},
    mischief,
    signsWrong: false,
    requests,
    stop: close,
  };
  service.on(Events.BeforeTokenSigning, ({ payload }: MutableToken) => Object.assign(payload, provider.claims));
  service.on(Events.BeforeResponse, (response: { body: Record<string, unknown> }) => {
    if (!provider.signsWrong) return;
    const [head, body, signature] = String(response.body.id_token).split('.');
    const first = signature!.startsWith('A') ? 'B' : 'A';
    response.body.id_token = `${head}.${body}.${first}${signature!.slice(1)}`;
  });
  return provider;
}
