/** The unique name with which a user signs in. Without an e-mail address it is the user's name, which must not contain an @. */
export function signInNameOf(email: string | null, name: string): string {
  return foldSignInName(email ?? name);
}

/** Normalization also converts fullwidth variants of @. */
export function isLikeEmail(name: string): boolean {
  return foldSignInName(name).includes('@');
}

export function foldSignInName(given: string): string {
  return given.normalize('NFKC').trim().toLowerCase();
}
