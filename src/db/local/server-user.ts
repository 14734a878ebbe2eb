import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { LocalServerError, USE_A_SERVER } from './local-server-error.ts';

/** User of the PostgreSQL programs, which refuse to run as root; `null`: the user of this process. */
export type ServerUser = { readonly uid: number; readonly gid: number } | null;

export const isRoot = (): boolean => process.getuid?.() === 0;

/** First of the ids that neither distributions nor systemd assign (systemd: "Users, Groups, UIDs and GIDs on systemd Systems"). */
const FREE_FROM = 60_706;
const FREE_TO = 61_183;

/** Returns the first id from `at` on that nobody uses: no user, group or process, and no other cluster in `clustersDir`. */
export function freeUser(clustersDir: string, at: number): Exclude<ServerUser, null> {
  const used = new Set([...usedByClusters(clustersDir), ...usedByProcesses()]);
  const count = FREE_TO - FREE_FROM + 1;
  for (let i = 0; i < count; i++) {
    const id = FREE_FROM + ((at + i) % count);
    if (!used.has(id) && !hasEntry('passwd', id) && !hasEntry('group', id)) return { uid: id, gid: id };
  }
  throw new LocalServerError(
    `All user ids from ${FREE_FROM} to ${FREE_TO} are in use`,
    `Delete unused ones, or ${USE_A_SERVER}.`,
  );
}

function usedByClusters(clustersDir: string): number[] {
  return readdirSync(clustersDir).map((name) => statSync(join(clustersDir, name)).gid);
}

function usedByProcesses(): number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? []);
}

function hasEntry(database: 'passwd' | 'group', id: number): boolean {
  try {
    // `getent` also finds users of directory services such as LDAP.
    execFileSync('getent', [database, String(id)], { stdio: 'ignore' });
    return true;
  } catch (error) {
    if ((error as { status?: number | null }).status != null) return false;
    return idsOf(`/etc/${database}`).some(([, entryId]) => entryId === id);
  }
}

function idsOf(file: string): [name: string, id: number][] {
  const lines = readFileSync(file, 'utf8').split('\n');
  // `>>> 0` makes -2, the id of `nobody` on macOS, positive.
  return lines.map((line) => line.split(':')).map(([name = '', , id = '']) => [name, Number(id) >>> 0]);
}

/**
 * The user for `initdb`, which must have an entry in the user database. For root: `nobody` with the server's group, so that other processes
 * of `nobody` can neither enter directories of that group nor trace this process.
 */
export function initialisingUser(server: ServerUser): ServerUser {
  if (server === null) {
    if (!hasOwnEntry()) {
      throw new LocalServerError(
        `The user id ${process.getuid?.()} has no entry in /etc/passwd, but PostgreSQL needs one to create a database`,
        `Run as a user with an entry, mount an /etc/passwd with one, or ${USE_A_SERVER}.`,
      );
    }
    return null;
  }
  const nobody = idsOf('/etc/passwd').find(([name, id]) => name === 'nobody' && id !== 0);
  if (nobody === undefined) {
    throw new LocalServerError(
      'PostgreSQL does not run as root, and /etc/passwd has no user "nobody" to create its database',
      `Add one, run as an ordinary user, or ${USE_A_SERVER}.`,
    );
  }
  return { uid: nobody[1], gid: server.gid };
}

function hasOwnEntry(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

interface RunOptions {
  readonly user: ServerUser;
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly stopped?: AbortSignal | undefined;
}

/** Runs a program until it exits. Its environment contains only what is given, and so no secrets of this process. */
export function runAs(file: string, given: readonly string[], options: RunOptions): Promise<string> {
  const { user, environment, input = '', stopped } = options;
  return new Promise((resolve, reject) => {
    const stop = (): void => void child.kill();
    const child = execFile(file, given, { ...user, cwd: '/', env: environment }, (error, stdout, stderr) => {
      stopped?.removeEventListener('abort', stop);
      if (error === null) resolve(stdout);
      else reject(Object.assign(error, { stderr }));
    });
    stopped?.addEventListener('abort', stop);
    // This error needs no handling: the callback reports a program that did not start or that exited early.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** The last output of a failed program, or why it did not start. */
export function lastOutput(error: unknown): string {
  const { stderr = '', message } = error as Error & { stderr?: string };
  return stderr.trim().split('\n').slice(-3).join(' ') || message;
}
