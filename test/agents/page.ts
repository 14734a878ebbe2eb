import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * `docs/agents.md` as the source of what the agents are given: the settings that it shows are the ones that are run, and
 * an address that it names is the one that is called.
 */
const PAGE = readFileSync(fileURLToPath(new URL('../../docs/agents.md', import.meta.url)), 'utf8');

/** Where the page's gateway is. */
const ORIGIN = 'http://127.0.0.1:8080';

/** The columns of the page's table of events. */
const COLUMNS = ['Codex', 'Claude Code'] as const;
export type AgentName = (typeof COLUMNS)[number] | 'Qwen Code' | 'opencode' | 'Cline' | 'Continue';
export type Context = 'balance' | 'coding';

/** The base address of an agent, as the page's first table has it, at a gateway elsewhere. */
export function baseAddress(agent: AgentName, context: Context, origin: string): string {
  const row = new RegExp(`^\\| ${agent} \\| \`(\\S+)\` \\| \`(\\S+)\` \\|$`, 'm').exec(PAGE);
  if (row === null) throw new Error(`docs/agents.md names no base addresses of ${agent}`);
  return row[context === 'balance' ? 1 : 2]!.replace(ORIGIN, origin);
}

/** A file of which the page gives the content: the block below the line that names it. */
export function settingsFile(file: string): string {
  const block = new RegExp(
    `^\`${file.replace(/[.~]/g, '\\$&')}\`[^\\n]*:\\n\\n\`\`\`\\w+\\n([\\s\\S]*?)^\`\`\`$`,
    'm',
  ).exec(PAGE);
  if (block === null) throw new Error(`docs/agents.md shows no ${file}`);
  return block[1]!;
}

/** What stands behind the name of a program in a command that the page shows. */
export function commandOf(program: string): string {
  const line = new RegExp(`^${program} (.*)$`, 'm').exec(PAGE);
  if (line === null) throw new Error(`docs/agents.md shows no command of ${program}`);
  return line[1]!;
}

/** The same text with another word in it, which must be there. */
export function replaced(text: string, found: string, by: string): string {
  if (!text.includes(found)) throw new Error(`docs/agents.md: ${found} is missing in\n${text}`);
  return text.replaceAll(found, by);
}

/** The event that the page has a table of its own for: it is the one that every agent was tried with. */
export const USED_UP = 'five-hour window used up: 429';

/** Something that an agent does, as the page's tables have it. */
interface Told {
  readonly agent: AgentName;
  readonly event: string;
  readonly expected: { readonly statuses: readonly number[] };
  readonly told: string;
}

/** The rows of the page's tables of what agents do, as they stand there. */
export const rowsOnPage = (): string[] => [
  ...rowsBelow('| event | Codex | Claude Code |'),
  ...rowsBelow('| agent | calls that were refused | at its end |'),
];

/** The same rows as they have to be. */
export function rowsOf(seen: readonly Told[]): string[] {
  const cell = (event: string, agent: AgentName): string =>
    seen.find((each) => each.event === event && each.agent === agent)?.told ?? '';
  const events = [...new Set(seen.map(({ event }) => event))].filter((event) => event !== USED_UP);
  return [
    ...events.map((event) => `| ${event} | ${COLUMNS.map((agent) => cell(event, agent)).join(' | ')} |`),
    ...seen
      .filter(({ event }) => event === USED_UP)
      .map(
        ({ agent, expected, told }) =>
          `| ${agent} | ${expected.statuses.filter((each) => each === 429).length} | ${told} |`,
      ),
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
