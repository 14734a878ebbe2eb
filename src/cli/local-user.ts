import { userInfo } from 'node:os';

/** Returns the name of the operating system's user; `null` if it has none, as in some containers. */
export function localUserName(): string | null {
  try {
    return userInfo().username || null;
  } catch {
    return null;
  }
}
