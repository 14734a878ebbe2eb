/** Where people are sent whose request does not say where to. */
export const CONSOLE_PATH = '/console';

const VISIBLE_ASCII = /^\/console(?:[/?#][\x21-\x7e]*)?$/;
const LENGTH_MAX = 500;

/**
 * Whether a browser may be sent there after a sign-in: an address of the console on this gateway. Backslashes and dots are refused,
 * which browsers read in ways of their own.
 */
export function isConsolePath(path: string): boolean {
  if (path.length > LENGTH_MAX || !VISIBLE_ASCII.test(path) || path.includes('\\')) return false;
  const { origin, pathname } = new URL(path, 'http://gateway.invalid');
  return origin === 'http://gateway.invalid' && (pathname === CONSOLE_PATH || pathname.startsWith(`${CONSOLE_PATH}/`));
}
