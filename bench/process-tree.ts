import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { hasCores } from './processes.ts';

/**
 * Usage of a process and its descendants according to the operating system, for programs into which no meter can be loaded. Linux only,
 * from `/proc`; the resolution is a tick, 10 ms.
 */
export interface TreeUsage {
  /** User and system time of all threads, and of exited children that were waited for. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

/** The values read for one process. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
  readonly pages: number;
}

/** `USER_HZ` of Linux, the same on all platforms that Node supports. */
const TICK_MICROS = 10_000;
const PAGE_BYTES = 4_096;

/** Parses a line of `/proc/PID/stat` (proc(5)). The name may contain blanks and brackets, so fields count from its end. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    pid: Number.parseInt(line, 10),
    parent: field(4),
    ticks: field(14) + field(15) + field(16) + field(17),
    pages: field(24),
  };
}

/** Sums over a process and its descendants. */
export function sumTree(all: readonly ProcessStat[], root: number): TreeUsage {
  const isIn = treeOf(all, root);
  let [cpuMicros, rssBytes] = [0, 0];
  for (const { pid, ticks, pages } of all) {
    if (!isIn.has(pid)) continue;
    cpuMicros += ticks * TICK_MICROS;
    rssBytes += pages * PAGE_BYTES;
  }
  return { cpuMicros, rssBytes };
}

function treeOf(all: readonly ProcessStat[], root: number): ReadonlySet<number> {
  const isIn = new Set([root]);
  // A child may have a lower number than its parent, so one pass is not enough.
  for (let known = 0; known < isIn.size; ) {
    known = isIn.size;
    for (const { pid, parent } of all) if (isIn.has(parent)) isIn.add(pid);
  }
  return isIn;
}

export const readTree = (root: number): TreeUsage => sumTree(readAll(), root);

/** MB of a process and its descendants. Shared pages count once (PSS, proc(5)). */
export function sharedMb(root: number): number {
  const kib = [...treeOf(readAll(), root)].map((pid) => {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
  });
  return kib.reduce((sum, each) => sum + each, 0) / 1_000;
}

/** Moves a process, its descendants and their future children to other cores. */
export function moveTree(root: number, cores: string): void {
  if (!hasCores) return;
  for (const pid of treeOf(readAll(), root)) spawnSync('taskset', ['-a', '-c', '-p', cores, String(pid)]);
}

function readAll(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))];
      } catch {
        // The process has exited.
        return [];
      }
    });
}
