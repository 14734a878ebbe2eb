import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { endpointTypes } from '../../scripts/endpoint-types.ts';
import { startGateway } from '../support/gateway.ts';

it("the console's types match the API description that the gateway serves", async (t) => {
  const server = await startGateway();
  t.after(() => server.stop());
  const document = await (await fetch(`${server.url}/openapi.json`)).json();
  const written = readFileSync('console/src/api/types.ts', 'utf8');
  assert.ok(
    written === endpointTypes(document as Parameters<typeof endpointTypes>[0]),
    'console/src/api/types.ts is out of date. Run: npm run console:types',
  );
});
