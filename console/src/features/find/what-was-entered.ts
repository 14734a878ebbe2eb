/** What somebody looks for, by how it looks. */
export type Entered =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'prefix'; readonly prefix: string }
  /** A secret of something else: it is sent nowhere. */
  | { readonly kind: 'foreign_secret' }
  | { readonly kind: 'account'; readonly id: string }
  | { readonly kind: 'key_id'; readonly id: string }
  /** Who has it can redeem it: it stands in no address. */
  | { readonly kind: 'voucher'; readonly code: string }
  | { readonly kind: 'call'; readonly id: string }
  /** The id of a request, a name, or a part of one. */
  | { readonly kind: 'text'; readonly id: string };

const KEY_START = 'sk-fg-';
const KEY_CHARS = 44;
/** A code as it is given out, or without the hyphens: an id of a request has lower case. */
const VOUCHER = /^(?:[0-9A-Za-z]{5}(?:[ -][0-9A-Za-z]{5}){3}|[0-9A-Z]{20})$/;
/** As many characters as lists show of a key. */
const PREFIX_CHARS = 10;

/**
 * Says what was entered. A key is recognized within what is around it, such as a header that was copied whole. What begins
 * like a key without being one is cut to its beginning, because the rest may be that of a mistyped real one.
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
