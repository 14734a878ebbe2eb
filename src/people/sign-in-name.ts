/**
 * The name for signing in: the e-mail address, or the user's name without one. Both share one unique index. A name without an address
 * contains no @, so it cannot be mistaken for an address.
 */
export function signInNameOf(email: string | null, name: string): string {
  return foldSignInName(email ?? name);
}

/** Whether a name looks like an e-mail address once folded; fullwidth variants of @ fold to @. */
export function isLikeEmail(name: string): boolean {
  return foldSignInName(name).includes('@');
}

/** Normalizes a sign-in name, so that case and Unicode variants make no difference. */
export function foldSignInName(given: string): string {
  return given.normalize('NFKC').trim().toLowerCase();
}
