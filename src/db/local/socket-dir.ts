import { chownSync, lutimesSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { LocalServerError } from './local-server-error.ts';
import type { ServerUser } from './server-user.ts';

export const PORT = 5432;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;

/** Maximum length of a socket path in bytes. This is the limit of macOS; Linux allows 107. */
const PATH_BYTES_MAX = 103;
const KEEP_MS = 3_600_000;

interface SocketDir {
  readonly path: string;
  remove(): void;
}

/** Returns the socket's directory. If its path is too long, this is a short link to it, in a directory that nobody else can change. */
export function makeSocketDir(directory: string, user: ServerUser): SocketDir {
  if (Buffer.byteLength(join(directory, SOCKET_NAME)) <= PATH_BYTES_MAX) {
    return { path: directory, remove: () => undefined };
  }
  const parent = makeLinkDir(directory);
  const path = join(parent, 's');
  symlinkSync(directory, path);
  if (user !== null) chownSync(parent, user.uid, user.gid);
  // Renews the timestamps, because systems delete old files in /tmp.
  const timer = setInterval(() => lutimesSync(path, new Date(), new Date()), KEEP_MS);
  timer.unref();
  return {
    path,
    remove() {
      clearInterval(timer);
      rmSync(parent, { recursive: true, force: true });
    },
  };
}

function makeLinkDir(directory: string): string {
  try {
    return mkdtempSync('/tmp/faregate-');
  } catch (error) {
    throw new LocalServerError(
      `The path ${directory} is too long for a socket (${PATH_BYTES_MAX} bytes), and no short link to it can be created in /tmp`,
      'Choose a data directory with a shorter path with FAREGATE_DATA_DIR.',
      error,
    );
  }
}

export function isListening(socketDir: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(socketDir, SOCKET_NAME));
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(false);
      // A server runs, but its queue of connections is full.
      else if (error.code === 'EAGAIN') resolve(true);
      else reject(error);
    });
  });
}
