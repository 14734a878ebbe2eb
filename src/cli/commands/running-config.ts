import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { ConfigResponse } from '../../api/config/admin.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { renderFields } from '../table.ts';

export function runningConfigCommand(program: Command, kit: CommandKit): void {
  addCommand(
    program,
    'config',
    'show the configuration that the gateway has loaded, with environment and defaults and without secrets; exit code 1 if a ' +
      'later change of the file could not be loaded. If no gateway runs, show what one would load here (--gateway names one)',
  ).action(
    kit.reading(async (admin, output) => {
      const view = await admin.request<ConfigResponse>('GET', '/config');
      output.print(view, () => `${describe(view)}\n\n${stringify(view.config, { lineWidth: 120 }).trimEnd()}`);
      return view.lastError === null ? 0 : 1;
    }),
  );
}

function describe({ node, file, loadedAt, overridden, needsRestart, lastError }: ConfigResponse): string {
  const fields: (readonly [string, string])[] = [
    ['node', node ?? 'no gateway runs; these are the settings of the file'],
    ['file', file ?? 'none'],
    ['loaded', localTime(loadedAt)],
  ];
  if (overridden.length > 0) fields.push(['set by flags or environment', overridden.join(', ')]);
  if (needsRestart.length > 0) fields.push(['waits for a restart', needsRestart.join(', ')]);
  if (lastError !== null) fields.push(['not in force since', `${localTime(lastError.at)}: ${lastError.message}`]);
  return renderFields(fields);
}
