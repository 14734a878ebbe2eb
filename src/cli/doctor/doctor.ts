import type { CatalogText } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { escapeText } from '../../lib/plain-text.ts';
import type { CommandRows } from '../command-rows.ts';
import { findConfigSource, loadForCommand } from '../environment.ts';
import type { Finding } from './doctor-finding.ts';

export const doctorCommands: CommandRows = {
  doctor: {
    about:
      'check everything that a gateway needs: versions, configuration, secrets, data directory, disk, database, clock, address, ' +
      'mail, providers (without their credentials); exit code 1 if something fails',
    with: { '--mail': 'also connect to the mail server and sign in; no mail is sent' },
    async runs(flags, output, { mail }, process) {
      const { environment } = process;
      const source = findConfigSource(flags, environment);
      // Imported here, because `--help` needs no HTTP client for providers.
      const { examine } = await import('./doctor-examination.ts');
      const { catalogInUse } = await import('../catalog-in-use.ts');
      const sources = {
        load: (catalog: CatalogText | undefined) => loadForCommand(flags, environment, { catalog }),
        // Errors of the database are not written here, because another finding reports them.
        findCatalog: (config: Config) => catalogInUse(flags, { ...process, writeError: () => undefined }, config),
      };
      const findings = await examine(source, environment, sources, { checksMail: mail === true });
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
