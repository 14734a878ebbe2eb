import type { Notice } from './notice.ts';
import type { DataText, NoticeLanguage } from './notice-words.ts';
import { wordsOf } from './notice-words.ts';
import { shownName } from './shown-name.ts';

interface MailedText {
  readonly subject: string;
  readonly text: string;
}

export function mailText(notice: Notice, language: NoticeLanguage, consoleUrl: string | null): MailedText {
  const { kind, data, atMs, id } = notice;
  const shown = dataText(notice);
  const { subject, text } = wordsOf(kind, shown, language);
  const link = consoleUrl === null ? [] : ['', linkOf(notice, notice.accountId === null, consoleUrl)];
  const fields = Object.keys(data).map((name) => `${name}: ${shown(name)}`);
  const foot = [`Notice ${id}, ${new Date(atMs).toISOString()}`];
  return { subject, text: [text, ...link, '', ...fields, '', ...foot, ''].join('\n') };
}

export interface MessageTerms {
  readonly language: NoticeLanguage;
  /** Address of the console. */
  readonly consoleUrl: string;
  /** Whether the endpoint belongs to operators. */
  readonly isForOperators: boolean;
  /** Name of the account that the notice is about; `null`: none. */
  readonly accountName: string | null;
}

/** WeCom accepts 2,048 bytes, with the link. */
const TEXT_BYTES_MAX = 1_700;

/** Returns a notice as a message to people, without any text that a messenger would read as a mention or a link of its own. */
export function messageText(notice: Notice, terms: MessageTerms): string {
  const { language, consoleUrl, isForOperators, accountName } = terms;
  const { subject, text } = wordsOf(notice.kind, dataText(notice), language);
  const account =
    accountName === null ? [] : [`${language === 'zh' ? '账户：' : 'Account: '}${shownName(accountName)}`];
  const said = cut(inert([subject, text, ...account].join('\n')), TEXT_BYTES_MAX);
  return `${said}\n${linkOf(notice, isForOperators, consoleUrl)}`;
}

function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= bytesMax ? text : `${new TextDecoder().decode(bytes.subarray(0, bytesMax))}…`;
}

/** Replaces what begins a mention in one of the messengers: `<!channel>`, `<at user_id="all">`, `@name`. */
function inert(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›').replaceAll('@', '＠');
}

const OWN_PAGES: Readonly<Partial<Record<Notice['kind'], string>>> = {
  'plan.nearly_used': '/plan',
  'key.expiring': '/keys',
  'invoice.closed': '/invoices',
  'webhook.test': '/webhooks',
};
const OPERATOR_PAGES: Readonly<Partial<Record<Notice['kind'], string>>> = {
  'route.down': '/operator/routes',
  'provider.budget_nearly_used': '/operator/routes',
  'invoice.requested': '/operator/invoices',
  'provider.refused_account': '/operator/providers',
  'catalog.failed': '/operator/catalog',
  'catalog.recovered': '/operator/catalog',
  'prices.changed': '/operator/catalog',
  'prices.failed': '/operator/catalog',
  'webhook.test': '/operator/notices',
};

/** Returns the console's page about a notice. */
function linkOf({ kind, accountId }: Notice, isForOperators: boolean, consoleUrl: string): string {
  const page = isForOperators
    ? (OPERATOR_PAGES[kind] ?? `/operator/accounts/${encodeURIComponent(accountId ?? '')}`)
    : (OWN_PAGES[kind] ?? '/');
  return `${consoleUrl}/console#${page}`;
}

/** Names are cut and contain no links, because customers can choose them. */
function dataText({ data }: Notice): DataText {
  return (name) => {
    const value = String(data[name] ?? '');
    return name === 'name' || name === 'companyName' ? shownName(value) : oneLine(value);
  };
}

/** Returns a text as one line of limited length. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 200);
}
