import { moduleFile } from '../../lib/files/module-file.ts';
import { createWorkerPool, WorkerFailedError } from '../../lib/worker-pool.ts';
import { PriceFileError } from './errors.ts';
import type { PriceTask, PriceTaskResult } from './price-worker.ts';
import type { SourcePrices } from './source-prices.ts';

const WORKER_FILE = moduleFile('./price-worker', import.meta.url);

/** The worst text of 8 MiB, a list of empty objects, needs less. */
const HEAP_MIB_MAX = 1_024;
const TASK_MS_MAX = 60_000;

/**
 * Reads a price file in a thread, which ends afterwards.
 *
 * @throws PriceFileError if the text is not a price file
 */
export async function readPricesInThread(task: PriceTask): Promise<SourcePrices> {
  const pool = createWorkerPool({
    file: WORKER_FILE,
    name: 'prices',
    threadsMax: 1,
    placesMax: 1,
    taskMsMax: TASK_MS_MAX,
    heapMiBMax: HEAP_MIB_MAX,
    idleMs: 0,
  });
  try {
    const nobody = { accountId: '', isOnlyAccount: true };
    const result = await pool.run<PriceTask, PriceTaskResult>(nobody, () => ({ task, moved: [] }));
    if ('refusal' in result) throw new PriceFileError(result.refusal);
    return result.prices;
  } catch (error) {
    if (error instanceof WorkerFailedError)
      throw new PriceFileError('The source takes too long to read.', { cause: error });
    throw error;
  } finally {
    await pool.close();
  }
}
