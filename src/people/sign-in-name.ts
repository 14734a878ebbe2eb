/**
 * What people sign in with: their e-mail address, or their name if they have none. Both are unique in one form, and no name
 * without an address has an @, so that one cannot be taken for the other.
 */
export function signInNameOf(email: string | null, name: string): string {
  return foldSignInName(email ?? name);
}

/** Whether a name could be taken for an e-mail address at a sign-in: some characters of another width become an @ there. */
export function isLikeEmail(name: string): boolean {
  return foldSignInName(name).includes('@');
}

/** The form in which two sign-in names are the same: case and the ways to write a character make no difference. */
export function foldSignInName(given: string): string {
  return given.normalize('NFKC').trim().toLowerCase();
}
