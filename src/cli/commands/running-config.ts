import { stringify } from 'yaml';
import type { ConfigResponse } from '../../api/config/admin.ts';
import type { CommandRows } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { renderFields } from '../table.ts';

export const runningConfigCommands: CommandRows = {
  config: {
    about:
      'show the configuration that the gateway has loaded, with environment and defaults and without secrets; exit code 1 if a ' +
      'later change of the file could not be loaded. If no gateway runs, show what one would load here (--gateway names one)',
    async reads(admin, output) {
      const view = await admin.request<ConfigResponse>('GET', '/config');
      output.print(view, () => `${describe(view)}\n\n${stringify(view.config, { lineWidth: 120 }).trimEnd()}`);
      return view.lastError === null ? 0 : 1;
    },
  },
};

function describe({ node, file, loadedAt, overridden, needsRestart, lastError }: ConfigResponse): string {
  const [reason = '', ...problems] = lastError?.message.split('\n') ?? [];
  const fields = renderFields([
    ['node', node ?? 'no gateway runs; these are the settings of the file'],
    ['file', file ?? 'none'],
    ['loaded', localTime(loadedAt)],
    overridden.length > 0 && ['set by flags or environment', overridden.join(', ')],
    needsRestart.length > 0 && ['waits for a restart', needsRestart.join(', ')],
    lastError !== null && ['not in force since', `${localTime(lastError.at)}: ${reason}`],
  ]);
  return [fields, ...problems].join('\n');
}
