/**
 * Returns the unique name with which a user signs in. For a user without an e-mail address, it is the name, which must not contain an @, so that it
 * cannot be mistaken for an address.
 */
export function signInNameOf(email: string | null, name: string): string {
  return foldSignInName(email ?? name);
}

/** Whether a name looks like an e-mail address after normalization, which also converts fullwidth variants of @ to @. */
export function isLikeEmail(name: string): boolean {
  return foldSignInName(name).includes('@');
}

/** Normalizes a sign-in name, so that case and Unicode variants do not matter. */
export function foldSignInName(given: string): string {
  return given.normalize('NFKC').trim().toLowerCase();
}
