import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Reads `docs/agents.md`: agents run with the settings on the page, and call the addresses on it. */
const PAGE = readFileSync(fileURLToPath(new URL('../../docs/agents.md', import.meta.url)), 'utf8');

/** The gateway's address on the page. */
const ORIGIN = 'http://127.0.0.1:8080';

/** The columns of the page's table of events. */
const COLUMNS = ['Codex', 'Claude Code'] as const;
export type AgentName = (typeof COLUMNS)[number] | 'Qwen Code' | 'opencode' | 'Cline' | 'Continue';
export type Context = 'balance' | 'coding';

/** The base address of an agent, from the page's first table, at another gateway. */
export function baseAddress(agent: AgentName, context: Context, origin: string): string {
  const row = new RegExp(`^\\| ${agent} \\| \`(\\S+)\` \\| \`(\\S+)\` \\|$`, 'm').exec(PAGE);
  if (row === null) throw new Error(`docs/agents.md names no base addresses of ${agent}`);
  return row[context === 'balance' ? 1 : 2]!.replace(ORIGIN, origin);
}

/** A file that the page contains: the block after the line with its name, which ends in a colon. */
export function settingsFile(file: string): string {
  const block = new RegExp(
    `^[^\\n]*\`${file.replace(/[.~]/g, '\\$&')}\`[^\\n]*:\\n\\n\`\`\`\\w+\\n([\\s\\S]*?)^\`\`\`$`,
    'm',
  ).exec(PAGE);
  if (block === null) throw new Error(`docs/agents.md shows no ${file}`);
  return block[1]!;
}

/** The arguments after the name of a program in a command on the page. */
export function commandOf(program: string): string {
  const line = new RegExp(`^${program} (.*)$`, 'm').exec(PAGE);
  if (line === null) throw new Error(`docs/agents.md shows no command of ${program}`);
  return line[1]!;
}

/** The text with one word replaced. The word must exist. */
export function replaced(text: string, found: string, by: string): string {
  if (!text.includes(found)) throw new Error(`docs/agents.md: ${found} is missing in\n${text}`);
  return text.replaceAll(found, by);
}

/** The event with its own table on the page. Every agent was tested with it. */
export const USED_UP = 'five-hour window used up: 429';

/** A row of the page's tables about agents' behaviour. */
interface Told {
  readonly agent: AgentName;
  readonly event: string;
  readonly expected: { readonly statuses: readonly number[] };
  readonly behaviour: string;
  readonly translation?: {
    readonly target: string;
    readonly model: string;
    readonly isKnown: boolean;
    readonly leftOut: readonly string[];
  };
}

/** The rows on the page. */
export const rowsOnPage = (): string[] => [
  ...rowsBelow('| event | Codex | Claude Code |'),
  ...rowsBelow('| agent | calls that were refused | at its end |'),
  ...rowsBelow('| agent | provider | left out |'),
];

/** The rows according to the run. */
export function rowsOf(seen: readonly Told[]): string[] {
  const cell = (event: string, agent: AgentName): string =>
    seen.find((each) => each.event === event && each.agent === agent)?.behaviour ?? '';
  const own = seen.filter(({ translation }) => translation === undefined);
  const events = [...new Set(own.map(({ event }) => event))].filter((event) => event !== USED_UP);
  return [
    ...events.map((event) => `| ${event} | ${COLUMNS.map((agent) => cell(event, agent)).join(' | ')} |`),
    ...own
      .filter(({ event }) => event === USED_UP)
      .map(
        ({ agent, expected, behaviour }) =>
          `| ${agent} | ${expected.statuses.filter((each) => each === 429).length} | ${behaviour} |`,
      ),
    ...seen.flatMap(({ agent, translation }) => {
      if (translation === undefined) return [];
      const { target, model, isKnown, leftOut } = translation;
      const name = isKnown ? `${agent}, model \`${model}\`` : agent;
      return [`| ${name} | ${target} | ${leftOut.map((each) => `\`${each}\``).join(', ')} |`];
    }),
  ];
}

function rowsBelow(head: string): string[] {
  const lines = PAGE.split('\n');
  const first = lines.indexOf(head) + 2;
  if (first === 1) return [];
  return lines.slice(
    first,
    lines.findIndex((line, index) => index >= first && !line.startsWith('|')),
  );
}
