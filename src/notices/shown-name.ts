const LENGTH_MAX = 60;

const LINK = /:\/\/|^www\.|[^.]\.\p{L}[\p{L}\p{M}]/iu;

/**
 * Returns a name as one short line that mail programs do not turn into a link. Otherwise users could send messages of their own in the
 * operator's name.
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
