import { spawnSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { benchFile, hasCores, OTHER_CORES, TARGET_CORE } from './processes.ts';

/** The measured version and the machine. Without them figures of two runs cannot be distinguished. */
export interface Machine {
  readonly revision: string;
  readonly node: string;
  readonly machine: string;
  /** Load average of the minute before the run. */
  readonly load: number;
}

export function describeMachine(): Machine {
  return {
    revision: revision(),
    node: process.versions.node,
    machine: `${availableParallelism()} cores of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}`,
    load: loadavg()[0]!,
  };
}

/** For people to read. */
export function machineLine({ revision, node, machine, load }: Machine): string {
  const pinned = hasCores
    ? `target on core ${TARGET_CORE}, everything else on core ${OTHER_CORES}`
    : 'not pinned to cores';
  return `${revision}, Node ${node}, ${machine}, ${pinned}, load ${load.toFixed(1)} at the start`;
}

/** The commit of this checkout, marked if there are uncommitted changes. */
function revision(): string {
  const git = (...args: string[]): string =>
    spawnSync('git', args, { cwd: benchFile('..'), encoding: 'utf8' }).stdout?.trim() ?? '';
  const commit = git('rev-parse', '--short=8', 'HEAD');
  if (commit === '') return 'an unknown revision';
  return git('status', '--porcelain', '--untracked-files=no') === '' ? commit : `${commit} with changes`;
}
