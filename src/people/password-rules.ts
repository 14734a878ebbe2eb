import { foldSignInName } from './sign-in-name.ts';

const PASSWORD_LENGTH_MIN = 12;
const PASSWORD_LENGTH_MAX = 200;

/**
 * Returns why a password is refused; `null` if it is not. There are no rules for kinds of characters, which lead to passwords that are
 * easier to guess (NIST SP 800-63B). `known`: what others know about the user, such as the e-mail address.
 */
export function passwordFault(password: string, known: readonly (string | null)[]): string | null {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN)
    return `Use at least ${PASSWORD_LENGTH_MIN} characters. Several words are easy to remember.`;
  if (length > PASSWORD_LENGTH_MAX) return `Use at most ${PASSWORD_LENGTH_MAX} characters.`;
  const folded = foldSignInName(password);
  const isKnown = known.some((text) => text !== null && foldSignInName(text) === folded);
  return isKnown ? 'Do not use your e-mail address or name.' : null;
}
