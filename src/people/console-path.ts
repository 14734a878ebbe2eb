/** Page to which a sign-in returns by default. */
export const CONSOLE_PATH = '/console';

const VISIBLE_ASCII = /^\/console(?:[/?#][\x21-\x7e]*)?$/;
const LENGTH_MAX = 500;

/** Whether a path is one of the console. It must not have backslashes or dot segments, because browsers interpret these differently. */
export function isConsolePath(path: string): boolean {
  if (path.length > LENGTH_MAX || !VISIBLE_ASCII.test(path) || path.includes('\\')) return false;
  const { origin, pathname } = new URL(path, 'http://gateway.invalid');
  return origin === 'http://gateway.invalid' && (pathname === CONSOLE_PATH || pathname.startsWith(`${CONSOLE_PATH}/`));
}
