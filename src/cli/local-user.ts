import { userInfo } from 'node:os';

/** `null` if the user of the operating system has no name, as in some containers. */
export function localUserName(): string | null {
  try {
    return userInfo().username || null;
  } catch {
    return null;
  }
}
