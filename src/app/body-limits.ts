import { totalmem } from 'node:os';
import type { Config } from '../config/schema.ts';
import {
  type BodyBudgetLimits,
  type BodyBudgets,
  defaultBodyMemoryBytes,
  defaultUploadDiskBytes,
} from '../http/body-budgets.ts';
import type { Disk } from '../journal/disk.ts';
import type { Part } from '../lib/part.ts';
import { budgetsOfWorker } from './worker-limits.ts';

/** Sets the budgets of bodies by the configuration, and by the memory and the disk that are available now. */
export async function setBodyBudgets(
  bodyBudgets: BodyBudgets,
  disk: Disk,
  dataDir: string,
  config: () => Config,
  part: Part,
): Promise<void> {
  const freeBytes = await disk.freeBytes(dataDir).catch(() => Number.POSITIVE_INFINITY);
  const all = bodyBudgetLimits(config(), freeBytes + bodyBudgets.diskUsedBytes);
  bodyBudgets.change(budgetsOfWorker(all, config().server, part));
}

function bodyBudgetLimits({ server }: Config, freeBytes: number): BodyBudgetLimits {
  // If the system sets no limit, this is 0 or far more than the memory of the machine.
  const constrainedBytes = process.constrainedMemory();
  const availableBytes = constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem();
  return {
    memoryBytes: server.bodyMemory ?? defaultBodyMemoryBytes(availableBytes, server.bodyLimit),
    diskBytes: server.uploadDisk ?? defaultUploadDiskBytes(freeBytes),
  };
}
