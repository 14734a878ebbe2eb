const LENGTH_MAX = 60;

/** Part of an address of the network: a scheme, `www.`, or a name with a domain. */
const LINK = /:\/\/|^www\.|[^.]\.\p{L}[\p{L}\p{M}]/iu;

/**
 * A name that people chose, as the subject and the first lines of a mail show it: in one line, short, and without anything that a
 * mail program makes a link of. Mails are sent in the name of the operator, so nobody may put words of their own into them.
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
