import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readApiDocument } from './api-document.ts';
import { endpointTypes } from './endpoint-types.ts';

/**
 * Writes the types by which the console asks the gateway, from the document that the gateway serves at /openapi.json.
 *
 *   npm run console:types
 *
 * `test/console/types.test.ts` fails if they are not what the document says.
 */
const OUT = fileURLToPath(new URL('../console/src/api/types.ts', import.meta.url));

writeFileSync(OUT, endpointTypes(await readApiDocument()));
console.log('console/src/api/types.ts is written.');
