import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readApiDocument } from './api-document.ts';
import { endpointTypes } from './endpoint-types.ts';

/**
 * Generates the console's API types from /openapi.json.
 *
 *   npm run console:types
 *
 * `test/console/types.test.ts` fails if the types are out of date.
 */
const OUT = fileURLToPath(new URL('../console/src/api/types.ts', import.meta.url));

writeFileSync(OUT, endpointTypes(await readApiDocument()));
console.log('Wrote console/src/api/types.ts.');
