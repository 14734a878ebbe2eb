import { userInfo } from 'node:os';

/** Who the operating system says is at the command line; `null` if the user has no name, as in some containers. */
export function localUserName(): string | null {
  try {
    return userInfo().username || null;
  } catch {
    return null;
  }
}
