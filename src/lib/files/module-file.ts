import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The file of another module of the program, for a thread or a process of its own: `.ts` if the program runs as it is, `.js` in the
 * package, where it is compiled.
 *
 * @param path without its extension, such as `./request-worker`
 * @param importer `import.meta.url` of who asks
 */
export function moduleFile(path: string, importer: string): string {
  return fileURLToPath(new URL(`${path}${extname(importer)}`, importer));
}
