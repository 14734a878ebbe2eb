import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the file of a module for a thread or a process: `.ts` if the program runs from its sources, otherwise `.js`.
 *
 * @param path the file without extension, such as `./request-worker`
 * @param importer `import.meta.url` of the caller
 */
export function moduleFile(path: string, importer: string): string {
  return fileURLToPath(new URL(`${path}${extname(importer)}`, importer));
}
