import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { replaceFile, syncDirectory, syncTree } from '../../lib/files/durable-files.ts';
import { tryLock } from '../directory-lock.ts';
import type { Binaries } from './binaries.ts';
import { LocalServerError, USE_A_SERVER } from './local-server-error.ts';
import { give, type Place } from './place.ts';
import { initialisingUser, lastOutput, runAs } from './server-user.ts';

/** Database role of the gateway. It owns the gateway's database and has no other rights. */
export const ROLE = 'faregate';
export const SUPERUSER = 'postgres';
export const DATABASE = 'postgres';

interface ClusterRecord {
  readonly password: string;
  /** Directory of a cluster that root owns; `null`: the cluster is in the data directory. */
  readonly home: string | null;
  /** Whether the cluster was created completely. If not, it is created again at the next start. */
  readonly isComplete: boolean;
}

export const recordFile = (dataDir: string): string => join(dataDir, 'postgres.json');

export function readRecord(dataDir: string): ClusterRecord | null {
  const file = recordFile(dataDir);
  if (!existsSync(file)) return null;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ClusterRecord;
  } catch (error) {
    const reason = (error as Error).message;
    throw new LocalServerError(
      `${file}, which contains the database password, cannot be read (${reason})`,
      'Restore the file or its permissions.',
      error,
    );
  }
}

export async function writeRecord(dataDir: string, record: ClusterRecord): Promise<void> {
  await replaceFile(recordFile(dataDir), JSON.stringify(record), 0o600);
}

/**
 * Claims root's cluster for a data directory. Returns a function that releases it. A copy of the data directory refers to the same cluster,
 * which must not be used twice or together with another journal.
 *
 * @throws LocalServerError if the cluster belongs to another data directory
 */
export function takeHome(home: string, dataDir: string): () => void {
  const owner = join(home, 'data-dir');
  const path = realpathSync(dataDir);
  const known = existsSync(owner) ? readFileSync(owner, 'utf8') : path;
  const isCopy = known !== path && readRecord(known)?.home === home;
  const unlock = isCopy ? null : tryLock(join(home, 'lock'));
  if (unlock === null) {
    throw new LocalServerError(
      `The data directory ${dataDir} is a copy: its database, ${home}, belongs to ${known}`,
      'Copy a database with "faregate db export" and "faregate db import".',
    );
  }
  writeFileSync(owner, path);
  return unlock;
}

export const newPassword = (): string => randomBytes(24).toString('hex');

/**
 * Creates the cluster, syncs it, and makes the server's user its owner. It gets its final name last, because programs that a killed gateway
 * started may still be writing to an earlier directory. `stopped` aborts the programs.
 */
export async function makeCluster(
  { home, cluster: name, user }: Place,
  binaries: Binaries,
  password: string,
  stopped?: AbortSignal,
): Promise<void> {
  const maker = initialisingUser(user);
  const run = { user: maker, environment: binaries.environment, stopped };
  const cluster = `${name}.${randomBytes(4).toString('hex')}`;
  mkdirSync(cluster, { mode: 0o700 });
  // `initdb` reads the password only from a file. Only this user can read it.
  const passwordFile = join(home, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  try {
    if (maker !== null) for (const path of [cluster, passwordFile]) give(path, maker.uid, maker.gid);
    const options = [
      ...[
        `--pgdata=${cluster}`,
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
      ],
      ...['--data-checksums', '--auth=scram-sha-256', `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`],
      ...['--set=timezone=UTC', '--set=log_timezone=UTC', '--set=dynamic_shared_memory_type=mmap'],
      // This password is random. More iterations protect only a guessable one, and would delay each connection.
      '--set=scram_iterations=1',
      // Everything is synced below, after the change of owner.
      ...['--no-sync', '--no-instructions'],
    ];
    await runAs(binaries.initdb, options, run);
    stopped?.throwIfAborted();
    await runAs(binaries.postgres, ['--single', '-D', cluster, '-c', 'exit_on_error=on', DATABASE], {
      ...run,
      input: `create role ${ROLE} login password '${password}'\nalter database ${DATABASE} owner to ${ROLE}\n`,
    });
  } catch (error) {
    stopped?.throwIfAborted();
    if (error instanceof LocalServerError) throw error;
    throw new LocalServerError(
      `PostgreSQL cannot create a database in ${cluster}: ${lastOutput(error)}`,
      `Fix the cause, choose another directory with FAREGATE_DATA_DIR, or ${USE_A_SERVER}.`,
      error,
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
  if (user !== null) {
    for (const path of ['', ...readdirSync(cluster, { recursive: true, encoding: 'utf8' })]) {
      lchownSync(join(cluster, path), user.uid, user.gid);
    }
  }
  chmodSync(cluster, 0o700);
  await syncTree(cluster);
  renameSync(cluster, name);
  await syncDirectory(home);
}

export function checkVersion(dataDir: string, cluster: string, binaries: Binaries): void {
  const made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  if (made === String(binaries.major)) return;
  throw new LocalServerError(
    `The database in ${dataDir} was created by PostgreSQL ${made}, but ${binaries.postgres} is PostgreSQL ${binaries.version}`,
    `Export it with PostgreSQL ${made}, from another gateway or with database.binaries (faregate db export), and import the file ` +
      'into another data directory (faregate db import).',
  );
}
