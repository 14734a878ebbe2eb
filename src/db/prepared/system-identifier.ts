import { closeSync, openSync, readdirSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32c } from './crc32c.ts';

/** Eight bytes at the begin of the control file, as `ControlFileData` of `catalog/pg_control.h` has them. */
const CONTROL_BYTES = 8;
/** Where the first page of a file of the log has them, as `XLogLongPageHeaderData` of `access/xlog_internal.h` says. */
const LOG_OFFSET = 24;
const CRC_BYTES = 4;

/**
 * Gives the files of a database a system identifier of their own, as `initdb` gives each: a log that belongs to another database is
 * refused by it. The engine must not run.
 *
 * @param fillRandom fills the bytes
 * @throws if the files are not laid out as this version of the engine lays them out.
 */
export function renewSystemIdentifier(directory: string, fillRandom: (bytes: Uint8Array) => void): void {
  const renewed = Buffer.alloc(CONTROL_BYTES);
  fillRandom(renewed);
  // It is shown as a number with a sign.
  renewed[CONTROL_BYTES - 1]! &= 0x7f;
  const controlFile = join(directory, 'global', 'pg_control');
  const control = readFileSync(controlFile);
  const former = Buffer.from(control.subarray(0, CONTROL_BYTES));
  const crcAt = findCrc(control);
  for (const file of logFiles(directory)) renewInLog(file, former, renewed);
  renewed.copy(control);
  control.writeUInt32LE(crc32c(control.subarray(0, crcAt)), crcAt);
  writeFileSync(controlFile, control);
}

/** The check sum stands behind all other values, and says where that is. */
function findCrc(control: Buffer): number {
  for (let at = CONTROL_BYTES; at + CRC_BYTES <= control.length; at += CRC_BYTES) {
    const sum = control.readUInt32LE(at);
    if (sum !== 0 && sum === crc32c(control.subarray(0, at))) return at;
  }
  throw new Error('the control file of the prepared database has no valid check sum');
}

function logFiles(directory: string): string[] {
  const log = join(directory, 'pg_wal');
  return readdirSync(log)
    .filter((name) => /^[0-9A-F]{24}$/.test(name))
    .map((name) => join(log, name));
}

function renewInLog(file: string, former: Buffer, renewed: Buffer): void {
  const descriptor = openSync(file, 'r+');
  try {
    const found = Buffer.alloc(CONTROL_BYTES);
    readSync(descriptor, found, 0, CONTROL_BYTES, LOG_OFFSET);
    // Files that the engine has made ahead are empty.
    if (found.every((byte) => byte === 0)) return;
    if (!found.equals(former)) throw new Error(`the log ${file} of the prepared database belongs to another one`);
    writeSync(descriptor, renewed, 0, CONTROL_BYTES, LOG_OFFSET);
  } finally {
    closeSync(descriptor);
  }
}
