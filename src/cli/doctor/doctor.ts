import { escapeText } from '../../lib/plain-text.ts';
import type { CommandRows } from '../command-rows.ts';
import { findConfigSource, loadForCommand } from '../environment.ts';
import type { Finding } from './doctor-finding.ts';

export const doctorCommands: CommandRows = {
  doctor: {
    about:
      'check everything that a gateway needs: versions, configuration, secrets, data directory, disk, database, clock, address, ' +
      'providers (without their credentials); exit code 1 if something fails',
    async runs(flags, output, _given, process) {
      const { environment } = process;
      const source = findConfigSource(flags, environment);
      // Imported here, because `--help` needs no HTTP client for providers.
      const { examine } = await import('./doctor-examination.ts');
      const { catalogInUse } = await import('../catalog-in-use.ts');
      const findings = await examine(source, environment, {
        load: (catalog) => loadForCommand(flags, environment, { catalog }),
        // Errors of the database are not written here, because another finding reports them.
        findCatalog: (config) => catalogInUse(flags, { ...process, writeError: () => undefined }, config),
      });
      output.print(findings, () => findings.map(describe).join('\n'));
      return findings.some(({ state }) => state === 'failed') ? 1 : 0;
    },
  },
};

const WORDS = { ok: 'ok     ', warning: 'WARNING', failed: 'FAILED ' };
const CHECK_WIDTH = 16;

function describe({ check, state, detail, advice }: Finding): string {
  const line = `${WORDS[state]}  ${escapeText(check).padEnd(CHECK_WIDTH)}  ${escapeText(detail)}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(CHECK_WIDTH + 11)}${escapeText(advice)}`;
}
