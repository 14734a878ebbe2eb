import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { IMAGE_TEXT } from '../support/endpoints.ts';
import { removeDirectory } from '../support/local-database.ts';
import type { Installation } from './installation.ts';
import type { Refusals, TestResult } from './results.ts';
import type { Suite } from './suites.ts';

const PLUGINS = fileURLToPath(new URL('.', import.meta.url));

export interface Target {
  readonly url: string;
  readonly key: string;
  readonly refusals: Refusals;
}

/** Runs the tests of a suite one at a time, with the vendor's configuration of pytest. */
export async function runSuite(
  suite: Suite,
  { python, folderOf }: Installation,
  target: Target,
): Promise<TestResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faregate-vendor-suites-'));
  const report = join(folder, 'report');
  try {
    const pytest = spawn(
      python,
      [
        ...['-m', 'pytest', '-n', '0', '-q', '--tb=no', '-p', 'no:cacheprovider', '-p', 'faregate_refusals'],
        // Tests of empty path parameters send no request.
        ...['-k', 'not path_params'],
        ...suite.files.map((file) => `tests/api_resources/${file}`),
      ],
      {
        cwd: folderOf(suite),
        // The whole environment: variables that configure the SDKs are not inherited.
        env: {
          PATH: process.env.PATH,
          HOME: homedir(),
          PYTHONPATH: PLUGINS,
          PYTHONDONTWRITEBYTECODE: '1',
          TEST_API_BASE_URL: target.url + suite.basePath,
          FAREGATE_SDK: suite.name,
          FAREGATE_KEY: target.key,
          FAREGATE_REFUSALS: JSON.stringify(target.refusals),
          FAREGATE_PICTURE: IMAGE_TEXT,
          FAREGATE_REPORT: report,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [output, errors, [code]] = await Promise.all([
      text(pytest.stdout),
      text(pytest.stderr),
      once(pytest, 'close'),
    ]);
    // Exit code 1 means that tests failed.
    if ((code !== 0 && code !== 1) || !existsSync(report))
      throw new Error(`pytest ended with ${code}:\n${output}\n${errors}`);
    const lines = readFileSync(report, 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as TestResult);
  } finally {
    removeDirectory(folder);
  }
}
