import { foldSignInName } from './sign-in-name.ts';

const PASSWORD_LENGTH_MIN = 12;
const PASSWORD_LENGTH_MAX = 200;

/**
 * Returns the reason why a new password is not accepted; `null` if it is accepted. There are no rules about kinds of characters, because they lead to
 * passwords that are easier to guess (NIST SP 800-63B).
 *
 * @param known what others know about the user: the e-mail address and the name.
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
