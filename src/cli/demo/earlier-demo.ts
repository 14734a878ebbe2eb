import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where demos of earlier versions have their data, and configurations that name no other place too. */
const EARLIER_DIRECTORY = './data';

/** What to say of the demo of an earlier version, which a start does not touch; `null` if there is none. */
export function describeEarlierDemo(dataDir: string): string | null {
  const directory = EARLIER_DIRECTORY;
  if (!existsSync(join(directory, 'demo.json'))) return null;
  return (
    `${directory} has the demo of an earlier version, which is left as it is; this one is in ${dataDir}. To go on with the ` +
    `earlier one, set FAREGATE_DATA_DIR=${directory}. To remove it: ` +
    `rm -r ${['db', 'journal', 'spool', 'demo.json'].map((name) => join(directory, name)).join(' ')}`
  );
}
