const LENGTH_MAX = 60;

/** A scheme, `www.`, or a domain name. */
const LINK = /:\/\/|^www\.|[^.]\.\p{L}[\p{L}\p{M}]/iu;

/**
 * Returns a user-chosen name in one short line, without anything that mail programs turn into a link. Otherwise users could send their own
 * messages in the operator's name.
 */
export function shownName(name: string): string {
  const words = name
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .split(/\s/)
    .filter((word) => word !== '');
  const shown = words.map((word) => (LINK.test(word.replaceAll('。', '.')) ? '[link]' : word)).join(' ');
  return shown.length <= LENGTH_MAX ? shown : `${shown.slice(0, LENGTH_MAX - 1)}…`;
}
