import { userInfo } from 'node:os';

/** The user of the operating system; `null` if it has no name, as in some containers. */
export function localUserName(): string | null {
  try {
    return userInfo().username || null;
  } catch {
    return null;
  }
}
