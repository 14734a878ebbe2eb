/** A sign-in returns to this page by default. */
export const CONSOLE_PATH = '/console';

const VISIBLE_ASCII = /^\/console(?:[/?#][\x21-\x7e]*)?$/;
const LENGTH_MAX = 500;

/** Refuses backslashes and dot segments, because browsers interpret them differently. */
export function isConsolePath(path: string): boolean {
  if (path.length > LENGTH_MAX || !VISIBLE_ASCII.test(path) || path.includes('\\')) return false;
  const { origin, pathname } = new URL(path, 'http://gateway.invalid');
  return origin === 'http://gateway.invalid' && (pathname === CONSOLE_PATH || pathname.startsWith(`${CONSOLE_PATH}/`));
}
