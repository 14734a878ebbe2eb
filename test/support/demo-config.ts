import { fileURLToPath } from 'node:url';
import { demoEnvironment } from '../../src/cli/environment.ts';
import { loadConfig } from '../../src/config/load.ts';
import { findInitialCatalog } from '../../src/config/revisions/initial-catalog.ts';
import type { Config } from '../../src/config/schema.ts';

const FILE = fileURLToPath(new URL('../../src/cli/demo/faregate.demo.yaml', import.meta.url));

/** The configuration of a new demo, with its initial catalog. */
export function readDemoConfig(): Config {
  const environment = demoEnvironment({});
  const catalog = findInitialCatalog(loadConfig(FILE, environment), FILE)!;
  return loadConfig(FILE, environment, { catalog });
}
