export type Entered =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'prefix'; readonly prefix: string }
  /** A secret of another service. It is not sent. */
  | { readonly kind: 'foreign_secret' }
  | { readonly kind: 'account'; readonly id: string }
  | { readonly kind: 'key_id'; readonly id: string }
  /** A voucher code is a secret: it is not put into the address. */
  | { readonly kind: 'voucher'; readonly code: string }
  | { readonly kind: 'call'; readonly id: string }
  /** A request id, or part of a name. */
  | { readonly kind: 'text'; readonly id: string };

const KEY_START = 'sk-fg-';
const KEY_CHARS = 44;
/** A code with separators in any case, or without in upper case only: request ids are lower case. */
const VOUCHER = /^(?:[0-9A-Za-z]{5}(?:[ -][0-9A-Za-z]{5}){3}|[0-9A-Z]{20})$/;
/** Length of the key prefix in lists. */
const PREFIX_CHARS = 10;

/**
 * Classifies a search text. A key is also recognized within other text, such as a copied header. An invalid key is cut to its prefix,
 * because it may be a mistyped real key.
 */
export function whatWasEntered(text: string): Entered {
  const key = /sk-fg-[0-9A-Za-z]*/.exec(text)?.[0];
  if (key !== undefined) {
    if (key.length === KEY_CHARS) return { kind: 'key', key };
    return { kind: 'prefix', prefix: key.slice(0, PREFIX_CHARS) };
  }
  if (/\bsk-/.test(text)) return { kind: 'foreign_secret' };
  const id = text.trim().replace(/^["'`]|["'`]$/g, '');
  if (id === '') return { kind: 'nothing' };
  if (KEY_START.startsWith(id)) return { kind: 'prefix', prefix: id };
  if (/^call_\w+$/.test(id)) return { kind: 'call', id };
  if (/^acct_\w+$/.test(id)) return { kind: 'account', id };
  if (/^key_\w+$/.test(id)) return { kind: 'key_id', id };
  if (VOUCHER.test(id)) return { kind: 'voucher', code: id };
  return { kind: 'text', id };
}
