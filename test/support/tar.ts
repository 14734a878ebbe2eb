import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const BLOCK_BYTES = 512;
const FILE = '0';
const DIRECTORY = '5';

/** Unpacks an archive in the format `ustar` that contains plain files and directories; only the owner may read them. */
export function extractTar(archive: Buffer, directory: string): void {
  for (let at = 0; at + BLOCK_BYTES <= archive.length; ) {
    const head = archive.subarray(at, at + BLOCK_BYTES);
    // Two blocks of zeros end the archive.
    if (head[0] === 0) return;
    const [name, prefix] = [textOf(head, 0, 100), textOf(head, 345, 155)];
    const path = join(directory, prefix, name);
    const sizeBytes = Number.parseInt(textOf(head, 124, 12), 8);
    const type = textOf(head, 156, 1);
    at += BLOCK_BYTES;
    if (type === DIRECTORY) mkdirSync(path, { recursive: true, mode: 0o700 });
    else if (type === FILE) writeFileSync(path, archive.subarray(at, at + sizeBytes), { mode: 0o600 });
    else throw new Error(`${name} is of the type ${type}`);
    at += Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
  }
}

function textOf(head: Buffer, start: number, length: number): string {
  const field = head.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end).trim();
}
