import { fileURLToPath } from 'node:url';

/**
 * Builds the console into `console/dist`.
 *
 *   npm run build
 *
 * npm runs it with `--if-possible` after each installation. Without the development dependencies it then does nothing. `.npmrc` makes npm show
 * the output of scripts, so that an installation does not seem to hang.
 */
const CONFIG = fileURLToPath(new URL('../console/vite.config.ts', import.meta.url));

const isOptional = process.argv.includes('--if-possible');
const vite = await import('vite').catch((error: unknown) => {
  if (isOptional && (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND') return null;
  throw error;
});
if (vite === null) console.log('The console is not built: the development dependencies are not installed.');
else {
  console.log('Building the console …');
  await vite.build({ configFile: CONFIG, logLevel: 'warn' });
}
