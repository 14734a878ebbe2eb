import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { createMetricsServer } from './metrics-server.ts';

test('the metrics server does not modify its address, which a reload compares with the new configuration', async () => {
  const server = createMetricsServer({
    address: Object.freeze({ host: '127.0.0.1', port: 0 }),
    scrape: async () => ({ contentType: 'text/plain', text: '' }),
    readReadiness: async () => ({ isReady: true, detail: [] }),
    clock: systemClock,
    ids: createIds(systemClock),
    logger: silentLogger,
  });
  try {
    assert.equal((await fetch(`${await server.listen()}/metrics`)).status, 200);
  } finally {
    await server.close();
  }
});
