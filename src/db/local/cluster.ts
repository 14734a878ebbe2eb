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
import { initialisingUser, runAs, saidLast } from './server-user.ts';

/** The role of the gateway, which owns its database and may do nothing else. */
export const ROLE = 'faregate';
/** The superuser, for an operator; with the same password. */
export const SUPERUSER = 'postgres';
export const DATABASE = 'postgres';

/** `postgres.json` in the data directory. */
export interface ClusterRecord {
  readonly password: string;
  /** Where root made it; `null`: in the data directory. */
  readonly home: string | null;
  /** Whether the cluster is complete. Until then it is made anew at each start. */
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
      `${file}, which has the password of the database, cannot be read (${reason})`,
      'Mend that.',
      error,
    );
  }
}

export async function writeRecord(dataDir: string, record: ClusterRecord): Promise<void> {
  await replaceFile(recordFile(dataDir), JSON.stringify(record), 0o600);
}

/**
 * Takes a cluster of root's for a data directory. A copy of that names the same cluster: it must not be served twice, and not with the journal
 * of the copy.
 *
 * @returns how to give it back.
 * @throws LocalServerError if it is another one's.
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

/** Nobody types it. */
export const newPassword = (): string => randomBytes(24).toString('hex');

/**
 * Makes the cluster, on the disk and with the owner of the server. It gets its name at the end: a program that a killed gateway has
 * started may still write to an earlier one.
 *
 * @param stopped ends the programs that make it.
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
  // Where nobody else may read it: the only way to tell it to `initdb`.
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
      // Rounds protect a password that can be guessed. Each connection would spend milliseconds on them.
      '--set=scram_iterations=1',
      // All is synced below, with its new owner.
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
      `PostgreSQL cannot make a database in ${cluster}: ${saidLast(error)}`,
      `Mend that, choose another directory with FAREGATE_DATA_DIR, or ${USE_A_SERVER}.`,
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

/** @throws LocalServerError if another major version made the cluster. */
export function checkVersion(dataDir: string, cluster: string, binaries: Binaries): void {
  const made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  if (made === String(binaries.major)) return;
  throw new LocalServerError(
    `The database in ${dataDir} is of PostgreSQL ${made}, and ${binaries.postgres} is PostgreSQL ${binaries.version}`,
    `Export it with a gateway that has PostgreSQL ${made}, or with database.binaries of one (faregate db export), and import that ` +
      'into another data directory (faregate db import).',
  );
}
