/** Returns the unique name with which a user signs in: the e-mail address or, without one, the user's name, which must not contain an @. */
export function signInNameOf(email: string | null, name: string): string {
  return foldSignInName(email ?? name);
}

/** Whether a name looks like an e-mail address. Normalization converts fullwidth variants of @ as well. */
export function isLikeEmail(name: string): boolean {
  return foldSignInName(name).includes('@');
}

export function foldSignInName(given: string): string {
  return given.normalize('NFKC').trim().toLowerCase();
}
