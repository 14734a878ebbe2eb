import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Fills the cache of compiled code that `bin/faregate.js` uses, so that the first command and the first start are as fast as later ones.
 *
 * npm runs it after each installation (`prepare`). Without the cache, the first command takes three times as long.
 */
console.log('Compiling the program …');
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/faregate', import.meta.url)));
const { neededCommands } = await import('../src/cli/commands/all.ts');
await import('../src/cli/program.ts');
await Promise.all(neededCommands([]).map((load) => load()));
// What commands load when they run.
await import('../src/cli/with-admin.ts');
await import('../src/cli/serve/serve-gateway.ts');
await import('../src/app/gateway.ts');
await import('../src/app/local-admin.ts');
