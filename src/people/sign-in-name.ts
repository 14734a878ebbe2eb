/** The unique name for signing in. A name used without an e-mail address contains no @, so it cannot be mistaken for an address. */
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
