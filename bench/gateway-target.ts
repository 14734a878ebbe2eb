import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGateway } from '../src/app.ts';
import { parseConfig } from '../src/config/load.ts';
import { openDatabase } from '../src/db/open.ts';
import { silentLogger } from '../src/lib/logger.ts';

/** The gateway as it is served, with one funded account, on the database named by its second argument. */
const [upstreamUrl, databaseUrl = ''] = process.argv.slice(2);
const dataDir = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
const config = parseConfig(
  `
server: { port: 0 }
database: { url: "${databaseUrl}", dataDir: ${dataDir} }
providers: { static: { protocol: chat, baseUrl: ${upstreamUrl}/v1, apiKey: bench } }
models:
  bench-model:
    maxOutputTokens: "1000"
    operations: [chat]
    price: { input: "1", output: "2" }
    routes: [{ provider: static, model: bench-upstream }]
`,
  'bench.yaml',
  {},
);
const database = await openDatabase(config.database, silentLogger);
const gateway = await createGateway({ config, database, logger: silentLogger, adminTokens: ['bench-admin-token'] });
const url = await gateway.listen();
const { id } = await admin<{ id: string }>('/accounts', { name: 'bench', verified: true });
await admin(`/accounts/${id}/top-ups`, { amountYuan: '100000000' });
const { key } = await admin<{ key: string }>(`/accounts/${id}/keys`, { name: 'bench' });
process.send?.({ url, key });

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() });
});
process.on('disconnect', () => {
  rmSync(dataDir, { recursive: true, force: true });
  process.exit(0);
});

async function admin<Answer>(path: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}/admin/v1${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer bench-admin-token', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer;
}
