import { foldSignInName } from './sign-in-name.ts';

const PASSWORD_LENGTH_MIN = 12;
const PASSWORD_LENGTH_MAX = 200;

/**
 * What is wrong with a new password; `null` if nothing is. Its length counts, and nothing else: rules about kinds of
 * characters make people choose what is easier to guess (NIST SP 800-63B).
 *
 * @param known what others know of the person: e-mail address and name.
 */
export function passwordFault(password: string, known: readonly (string | null)[]): string | null {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN)
    return `At least ${PASSWORD_LENGTH_MIN} characters. Several words are easy to remember.`;
  if (length > PASSWORD_LENGTH_MAX) return `At most ${PASSWORD_LENGTH_MAX} characters.`;
  const folded = foldSignInName(password);
  const isKnown = known.some((text) => text !== null && foldSignInName(text) === folded);
  return isKnown ? 'Not the e-mail address or the name itself.' : null;
}
