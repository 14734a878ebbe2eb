import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Exact versions: a new version of an agent must not change the result. */
const PINNED = {
  '@openai/codex': '0.171.0',
  '@anthropic-ai/claude-code': '2.1.332',
  '@qwen-code/qwen-code': '0.24.4',
  'opencode-ai': '1.18.33',
  '@continuedev/cli': '1.5.47',
  cline: '3.0.65',
} as const;

/** Outside the project's dependencies: more than a gigabyte that only this run needs. */
const FOLDER = fileURLToPath(new URL('../../.agents', import.meta.url));

export interface Installation {
  /** Their command lines. */
  readonly codex: readonly string[];
  readonly claudeCode: readonly string[];
  readonly qwenCode: readonly string[];
  readonly opencode: readonly string[];
  readonly continueCli: readonly string[];
  readonly cline: readonly string[];
  readonly versions: typeof PINNED;
  /** Whether it was already installed. */
  readonly wasThere: boolean;
}

/** Installs the pinned agents without their install scripts. Keeps earlier installations. */
export async function installAgents(): Promise<Installation> {
  const wasThere = Object.entries(PINNED).every(([name, version]) => installedVersion(name) === version);
  if (!wasThere) {
    mkdirSync(FOLDER, { recursive: true });
    const manifest = { name: 'agents', private: true, dependencies: PINNED };
    writeFileSync(join(FOLDER, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    await npm(['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  const packages = join(FOLDER, 'node_modules');
  return {
    codex: [process.execPath, join(packages, '@openai/codex/bin/codex.js')],
    // An install script would put the executable here; without it, this file of the package is used.
    claudeCode: [process.execPath, join(packages, '@anthropic-ai/claude-code/cli-wrapper.cjs')],
    qwenCode: [process.execPath, join(packages, '@qwen-code/qwen-code/cli.js')],
    // An install script would create the launcher; this is what it starts.
    opencode: [join(packages, `opencode-${process.platform}-${process.arch}/bin/opencode`)],
    continueCli: [process.execPath, join(packages, '@continuedev/cli/dist/cn.js')],
    cline: [process.execPath, join(packages, 'cline/bin/cline')],
    versions: PINNED,
    wasThere,
  };
}

/** npm writes this file when an installation is complete. */
function installedVersion(name: string): string | null {
  const file = join(FOLDER, 'node_modules', '.package-lock.json');
  if (!existsSync(file)) return null;
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, { version: string }> };
  return packages[`node_modules/${name}`]?.version ?? null;
}

function npm(given: readonly string[]): Promise<void> {
  const child = spawn('npm', given, { cwd: FOLDER, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`npm ${given[0]} ended with ${code}`))));
  });
}
