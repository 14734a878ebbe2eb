import type { Notice } from './notice.ts';
import { shownName } from './shown-name.ts';

export function mailText({ kind, data, atMs, id }: Notice): { readonly subject: string; readonly text: string } {
  const shown = (name: string): string => {
    const value = String(data[name] ?? '');
    return name === 'name' || name === 'companyName' ? shownName(value) : oneLine(value);
  };
  const { subject, text } = wordsOf(kind, shown);
  const fields = Object.keys(data).map((name) => `${name}: ${shown(name)}`);
  const foot = [`Notice ${id}, ${new Date(atMs).toISOString()}`];
  return { subject, text: [text, '', ...fields, '', ...foot, ''].join('\n') };
}

function wordsOf(kind: Notice['kind'], of: (name: string) => string): { subject: string; text: string } {
  switch (kind) {
    case 'balance.low':
      return {
        subject: `Balance low: ${of('balanceYuan')} yuan`,
        text: `The balance of your account is ${of('balanceYuan')} yuan, which is below ${of('thresholdYuan')} yuan. Calls are refused once the balance is used up.`,
      };
    case 'plan.nearly_used':
      return {
        subject: `${of('planName')}: ${of('percent')} % used`,
        text: `Your plan ${of('planName')} has used ${of('used')} of ${of('limit')} ${of('measure') === 'tokens' ? 'tokens in this period' : 'calls this week'}. The limit resets at ${of('resetsAt')}.`,
      };
    case 'key.expiring':
      return {
        subject: `The API key ${of('name')} expires soon`,
        text: `Your API key ${of('name')} (${of('prefix')}) expires at ${of('expiresAt')}. Calls with it are refused from then on.`,
      };
    case 'invoice.closed': {
      const what = of('month') === '' ? 'top-ups' : of('month');
      return of('state') === 'issued'
        ? {
            subject: `Invoice ${of('invoiceNumber')} is issued`,
            text: `The invoice that your account requested for ${what}, ${of('amountYuan')} yuan, has the number ${of('invoiceNumber')}. ${of('note')}`,
          }
        : {
            subject: 'Your request for an invoice was refused',
            text: `The invoice that your account requested for ${what}, ${of('amountYuan')} yuan, is not issued. You can request it again. Reason: ${of('note')}`,
          };
    }
    case 'invoice.requested':
      return {
        subject: `${of('companyName')} requests an invoice`,
        text: `An account requests an invoice of ${of('amountYuan')} yuan. Issue it, then close the request.`,
      };
    case 'route.down':
      return {
        subject: `Route down: ${of('model')} at ${of('provider')}`,
        text: `Calls to ${of('model')} at ${of('provider')} have been failing since ${of('since')}.`,
      };
    case 'provider.refused_account':
      return {
        subject: `${of('provider')} refuses the credential ${of('credential')}`,
        text: `The provider ${of('provider')} refuses the credential ${of('credential')}, or the account it belongs to, with status ${of('status')}.`,
      };
    case 'catalog.failed':
      return {
        subject: `Revision ${of('revision')} of the catalog cannot be used`,
        text: `The node ${of('node')} cannot use revision ${of('revision')} of the catalog. It keeps the earlier one, with its prices, and tries again.`,
      };
    case 'catalog.recovered':
      return {
        subject: `Revision ${of('revision')} of the catalog is in force`,
        text: `The node ${of('node')} could not use a revision of the catalog. It now applies revision ${of('revision')}.`,
      };
    case 'prices.changed': {
      const text = {
        draft: `Revision ${of('revision')} of the catalog is a draft with the new prices. It comes into force when you apply it.`,
        in_force: `Revision ${of('revision')} of the catalog with the new prices is in force.`,
      }[of('state')];
      return {
        subject: `Prices have changed at the price source: ${of('changeCount')} changes`,
        text: text ?? 'The catalog is in the configuration file, and keeps its prices until you change the file.',
      };
    }
    case 'prices.failed':
      return {
        subject: 'The price source cannot be read',
        text: `The price source ${of('source')} cannot be read. The present prices stay in force. ${of('reason')}`,
      };
    case 'webhook.test':
      return { subject: 'Test', text: 'This is a test.' };
  }
}

/** Returns a name as one line of limited length, because customers can choose names. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 200);
}
