import type { Transporter } from 'nodemailer';
import { untilAborted } from '../lib/outgoing/checked-connection.ts';
import type { Notice } from './notice.ts';
import { mailText } from './notice-text.ts';
import type { NoticeLanguage } from './notice-words.ts';
import { failed, type SendResult } from './send-result.ts';

export interface MailTerms {
  readonly host: string;
  readonly port: number;
  /** `implicit`: TLS from the first byte. `starttls`: TLS before any command. `none`: no TLS, for servers on the same machine. */
  readonly tls: 'implicit' | 'starttls' | 'none';
  readonly user: string | null;
  readonly password: string | null;
  readonly from: string;
  readonly ca?: string;
  /** What recipients see in place of the name of the gateway; `null`: nothing. */
  readonly name: string | null;
  readonly supportAddress: string | null;
}

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Message id, the same for every attempt, so that mail programs detect duplicates; `null`: the mail is sent only once. */
  readonly id: string | null;
}

export type SendMail = (
  mail: { readonly notice: Notice; readonly to: string },
  signal: AbortSignal,
) => Promise<SendResult>;

/** Time limit of each stage: connecting, greeting, and inactivity. */
const STAGE_MS = 10_000;
const DEADLINE_MS = 20_000;

/** Opens nothing yet. The package is loaded when needed, because most gateways send no mail. */
async function createMailTransport({ host, port, tls, user, password, ca }: MailTerms): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(user !== null && { auth: { user, pass: password ?? '' } }),
    ...(ca !== undefined && { tls: { ca } }),
    connectionTimeout: STAGE_MS,
    greetingTimeout: STAGE_MS,
    socketTimeout: STAGE_MS,
    dnsTimeout: STAGE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Sends a mail. @throws the signal's reason */
export async function sendOneMail(
  terms: MailTerms,
  { to, subject, text, id }: Mail,
  signal: AbortSignal,
  deadlineMs = DEADLINE_MS,
): Promise<SendResult> {
  const { host, port, tls, user, password, from, ca } = terms;
  const deadline = AbortSignal.timeout(deadlineMs);
  const record = AbortSignal.any([signal, deadline]);
  let transport: Transporter | null = null;
  try {
    transport = await createMailTransport(terms);
    record.throwIfAborted();
    const { from } = terms;
    const sent = transport.sendMail({
      from,
      to: { name: '', address: to },
      ...branded(terms, { subject, text }),
      headers: { 'auto-submitted': 'auto-generated' },
      ...(id !== null && { messageId: `<${id}@${domainOf(from)}>` }),
    });
    await untilAborted(sent, record);
    return { outcome: 'delivered', status: null };
  } catch (error) {
    signal.throwIfAborted();
    return toFailure(error, deadline.aborted);
  } finally {
    transport?.close();
  }
}

/** Adds the name to the subject, and name and support address as a signature (RFC 3676, section 4.3). */
function branded({ name, supportAddress }: MailTerms, { subject, text }: Pick<Mail, 'subject' | 'text'>) {
  const signature = [name, supportAddress].filter((line) => line !== null);
  return {
    subject: name === null ? subject : `${name}: ${subject}`,
    text: signature.length === 0 ? text : [`${text.trimEnd()}\n`, '-- ', ...signature, ''].join('\n'),
  };
}

/** Connects to the mail server and signs in. Returns what failed, without secrets; `null`: nothing. */
export async function checkMailServer(terms: MailTerms, deadlineMs = DEADLINE_MS): Promise<string | null> {
  const transport = await createMailTransport(terms);
  const deadline = AbortSignal.timeout(deadlineMs);
  try {
    await untilAborted(transport.verify(), deadline);
    return null;
  } catch (error) {
    const what = (error as SmtpError).code === 'EAUTH' ? 'the server refuses the sign-in' : 'the server cannot be used';
    return `${what} (${wordsOf(error, deadline.aborted)})`;
  } finally {
    transport.close();
  }
}

/** @param consoleUrl address of the console for links; `null`: no links */
export function createMailSender(terms: MailTerms, language: NoticeLanguage, consoleUrl: string | null): SendMail {
  return ({ notice, to }, signal) =>
    sendOneMail(terms, { to, ...mailText(notice, language, consoleUrl), id: notice.id }, signal);
}

interface SmtpError {
  readonly code?: unknown;
  readonly responseCode?: unknown;
  readonly command?: unknown;
}

function toFailure(error: unknown, isLate: boolean): SendResult {
  const { responseCode, command } = error as SmtpError;
  const status = typeof responseCode === 'number' ? responseCode : null;
  // The server has refused this recipient permanently.
  const isFinal = status !== null && status >= 500 && command === 'RCPT TO';
  return { ...failed(status, `The mail server did not accept the mail (${wordsOf(error, isLate)}).`), isFinal };
}

/** Only codes: the message might quote the response. */
function wordsOf(error: unknown, isLate: boolean): string {
  const { code, responseCode } = error as SmtpError;
  const reason = isLate ? 'ETIMEDOUT' : typeof code === 'string' ? code : 'unknown';
  return typeof responseCode === 'number' ? `${reason}, ${responseCode}` : reason;
}

function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'faregate.invalid';
}
