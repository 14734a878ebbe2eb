import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Finished, start } from './child.ts';
import type { Installation } from './installation.ts';
import { type AgentName, baseAddress, type Context, commandOf, replaced, settingsFile } from './page.ts';

export interface AgentRun {
  /** Prefix of the base addresses on the page. */
  readonly origin: string;
  readonly context: Context;
  readonly key: string;
  /** A proxy for all addresses except the gateway's. */
  readonly outsideUrl: string;
  /** An empty directory for the agent. */
  readonly home: string;
  readonly workDirectory: string;
  readonly prompt: string;
  /** Whether it continues the conversation of the previous run, in the same directories. */
  readonly isContinued: boolean;
  readonly limitMs: number;
  /** Changes to the settings file of the page. */
  readonly change?: (settings: string) => string;
}

/** The result of a run, in terms that all agents share. */
export interface AgentResult extends Finished {
  /** The agent's last message, a response or an error. */
  readonly said: string;
}

export interface Agent {
  readonly name: AgentName;
  readonly version: string;
  run(given: AgentRun): Promise<AgentResult>;
}

export interface Agents {
  readonly codex: Agent;
  readonly claudeCode: Agent;
  readonly qwenCode: Agent;
  readonly opencode: Agent;
  readonly cline: Agent;
  readonly continueCli: Agent;
}

export function createAgents(installation: Installation): Agents {
  const { codex, claudeCode, qwenCode, opencode, cline, continueCli, versions } = installation;
  return {
    codex: {
      name: 'Codex',
      version: versions['@openai/codex'],
      async run(given) {
        const settings = replaced(
          settingsFile('~/.codex/config.toml'),
          baseAddress('Codex', 'balance', 'http://127.0.0.1:8080'),
          baseAddress('Codex', given.context, given.origin),
        );
        write(given, '.codex/config.toml', settings);
        writeAsIs(given, '.codex/models.json', settingsFile('~/.codex/models.json'));
        const finished = await start(
          // The commands of the task are harmless, and its sandbox does not work on every test machine.
          [
            ...codex,
            'exec',
            '--json',
            '--skip-git-repo-check',
            '--dangerously-bypass-approvals-and-sandbox',
            ...(given.isContinued ? ['resume', '--last'] : []),
            given.prompt,
          ],
          options(given, { FAREGATE_KEY: given.key }),
        ).finished;
        return { ...finished, said: lastOfCodex(finished.stdout) };
      },
    },
    claudeCode: {
      name: 'Claude Code',
      version: versions['@anthropic-ai/claude-code'],
      async run(given) {
        const address = baseAddress('Claude Code', given.context, given.origin);
        const page = settingsFile('~/.claude/settings.json');
        const settings = replaced(
          page,
          `"${baseAddress('Claude Code', 'balance', 'http://127.0.0.1:8080')}"`,
          `"${address}"`,
        );
        write(given, '.claude/settings.json', replaced(settings, 'sk-fg-…', given.key));
        const finished = await start(
          [
            ...claudeCode,
            '-p',
            given.prompt,
            '--output-format',
            'json',
            '--allowedTools',
            'Write',
            'Read',
            ...(given.isContinued ? ['--continue'] : []),
          ],
          options(given, {}),
        ).finished;
        return { ...finished, said: lastOfClaudeCode(finished.stdout) };
      },
    },
    qwenCode: {
      name: 'Qwen Code',
      version: versions['@qwen-code/qwen-code'],
      async run(given) {
        write(given, '.qwen/settings.json', inPlace(given, settingsFile('~/.qwen/settings.json'), 'Qwen Code'));
        const finished = await start(
          [...qwenCode, '--approval-mode', 'yolo', ...(given.isContinued ? ['--continue'] : []), given.prompt],
          options(given, { FAREGATE_KEY: given.key }),
        ).finished;
        return { ...finished, said: finished.stdout + finished.stderr };
      },
    },
    opencode: {
      name: 'opencode',
      version: versions['opencode-ai'],
      async run(given) {
        const file = '.config/opencode/opencode.json';
        write(given, file, inPlace(given, settingsFile(`~/${file}`), 'opencode'));
        const finished = await start(
          [
            ...opencode,
            'run',
            ...(given.isContinued ? ['--continue'] : []),
            '--pure',
            '--print-logs',
            '--log-level',
            'ERROR',
            given.prompt,
          ],
          options(given, {
            FAREGATE_KEY: given.key,
            OPENCODE_DISABLE_MODELS_FETCH: '1',
            OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
          }),
        ).finished;
        return { ...finished, said: finished.stdout + finished.stderr };
      },
    },
    cline: {
      name: 'Cline',
      version: versions.cline,
      async run(given) {
        const file = '.cline/data/settings/global-settings.json';
        writeAsIs(given, file, settingsFile(`~/${file}`));
        // Its own directory prevents a background process.
        const data = ['--data-dir', join(given.home, '.cline/data')];
        const command = inPlace(given, replaced(commandOf('cline'), '"$FAREGATE_KEY"', given.key), 'Cline');
        await start([...cline, ...command.split(' '), ...data], options(given, {})).finished;
        const finished = await start([...cline, ...data, '--json', given.prompt], options(given, {})).finished;
        return { ...finished, said: finished.stdout + finished.stderr };
      },
    },
    continueCli: {
      name: 'Continue',
      version: versions['@continuedev/cli'],
      async run(given) {
        const settings = inPlace(given, settingsFile('~/.continue/config.yaml'), 'Continue');
        write(given, '.continue/config.yaml', replaced(settings, 'sk-fg-…', given.key));
        const finished = await start(
          [...continueCli, '--config', join(given.home, '.continue/config.yaml'), '--auto', '-p', given.prompt],
          options(given, {}),
        ).finished;
        return { ...finished, said: finished.stdout + finished.stderr };
      },
    },
  };
}

/** The settings on the page, with the address of the run. */
function inPlace({ context, origin }: AgentRun, settings: string, agent: AgentName): string {
  return replaced(
    settings,
    baseAddress(agent, 'balance', 'http://127.0.0.1:8080'),
    baseAddress(agent, context, origin),
  );
}

/** Writes the settings that scenarios may change. */
function write(given: AgentRun, file: string, settings: string): void {
  writeAsIs(given, file, given.change?.(settings) ?? settings);
}

function writeAsIs({ home }: AgentRun, file: string, content: string): void {
  const path = join(home, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function options({ home, workDirectory, outsideUrl, limitMs }: AgentRun, own: Record<string, string>) {
  const environment = {
    // The agents' launchers use the `node` in PATH, which is the project's.
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    LANG: 'C.UTF-8',
    HTTP_PROXY: outsideUrl,
    HTTPS_PROXY: outsideUrl,
    NO_PROXY: '127.0.0.1',
    ...own,
  };
  return { directory: workDirectory, environment, limitMs };
}

interface CodexEvent {
  readonly type: string;
  readonly message?: string;
  readonly error?: { readonly message: string };
  readonly item?: { readonly type: string; readonly text?: string };
}

function lastOfCodex(stdout: string): string {
  let said = '';
  for (const line of stdout.split('\n')) {
    if (!line.startsWith('{')) continue;
    const event = JSON.parse(line) as CodexEvent;
    if (event.type === 'item.completed' && event.item?.type === 'agent_message') said = event.item.text ?? '';
    else if (event.type === 'error' || event.type === 'turn.failed') said = event.error?.message ?? event.message ?? '';
  }
  return said;
}

function lastOfClaudeCode(stdout: string): string {
  return stdout.startsWith('{') ? ((JSON.parse(stdout) as { result?: string }).result ?? '') : stdout;
}
