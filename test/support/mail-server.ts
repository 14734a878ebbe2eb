import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body, verbatim. */
  readonly text: string;
  readonly isSecure: boolean;
  readonly user: string | null;
}

/** Returns the one-time link in a mail. */
export function linkIn({ text }: Pick<ReceivedMail, 'text'>): string {
  const link = /http\S+token=[\w-]{43}/.exec(text.replaceAll('=\r\n', '').replaceAll('=3D', '='));
  assert.ok(link !== null, text);
  return link[0];
}

/** A mail server on loopback. */
export interface MailServer {
  readonly port: number;
  readonly received: ReceivedMail[];
  /** The code with which it refuses this address; without it, it accepts mail for the address. */
  readonly refused: Map<string, number>;
  close(): Promise<void>;
}

export async function startMailServer({ user = 'gateway', password = 'mail-password' } = {}): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const refused = new Map<string, number>();
  const server = new SMTPServer({
    key: CERTIFICATE_KEY,
    cert: CERTIFICATE,
    authOptional: true,
    onAuth({ username, password: given }, _session, done) {
      if (username === user && given === password) done(null, { user: username });
      else done(new Error('wrong'));
    },
    onRcptTo({ address }, _session, done) {
      const code = refused.get(address);
      if (code === undefined) done();
      else done(Object.assign(new Error('refused'), { responseCode: code }));
    },
    onData(stream, session, done) {
      void textOf(stream).then((text) => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text,
          isSecure: session.secure,
          user: session.user ?? null,
        });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    refused,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
