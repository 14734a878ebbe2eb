import { spawnSync } from 'node:child_process';
import { requiredTool } from './required-tool.ts';

/**
 * Runs Biome with the given arguments.
 *
 *   node scripts/biome.ts check --write src
 */
const program = `${requiredTool('@biomejs/biome')}/bin/biome`;
const { status } = spawnSync(process.execPath, [program, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exitCode = status ?? 1;
