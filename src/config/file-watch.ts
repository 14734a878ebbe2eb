import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { dirname, resolve } from 'node:path';

interface FileWatchOptions {
  readonly path: string;
  /** The file may have changed. */
  readonly onEvent: () => void;
  /** The system does not report changes here, so that only the poll finds them. */
  readonly onUnreported: (error: unknown) => void;
  readonly pollMs: number;
}

/** Starts to watch a file; returns a function that ends it. */
export function watchOneFile({ path, onEvent, onUnreported, pollMs }: FileWatchOptions): () => void {
  const whole = resolve(path);
  const directory = watchDirectory(dirname(whole), onEvent, onUnreported);
  const poll = (): void => onEvent();
  // The directory's events miss what happens behind a symbolic link, to the directory itself, or on another machine.
  watchFile(whole, { interval: pollMs, persistent: false }, poll);
  return () => {
    directory?.close();
    unwatchFile(whole, poll);
  };
}

/**
 * The directory is watched and not the file, because an editor puts a new file in the place of the old one. All of its
 * events count: where Kubernetes mounts the file, a change is that of a link called `..data` beside it.
 */
function watchDirectory(
  directory: string,
  onEvent: () => void,
  onUnreported: (error: unknown) => void,
): FSWatcher | null {
  try {
    const watcher = watch(directory, { persistent: false }, onEvent);
    watcher.on('error', onUnreported);
    return watcher;
  } catch (error) {
    onUnreported(error);
    return null;
  }
}
