import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * `docs/agents.md` as the source of what the agents are given: the settings that it shows are the ones that are run, and
 * an address that it names is the one that is called.
 */
const PAGE = readFileSync(fileURLToPath(new URL('../../docs/agents.md', import.meta.url)), 'utf8');

/** Where the page's gateway is. */
const ORIGIN = 'http://127.0.0.1:8080';

/** In the order of the columns of the page's table. */
const AGENTS = ['Codex', 'Claude Code', 'Qwen Code', 'opencode'] as const;
export type AgentName = (typeof AGENTS)[number];
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

/** The same text with another word in it, which must be there. */
export function replaced(text: string, found: string, by: string): string {
  if (!text.includes(found)) throw new Error(`docs/agents.md: ${found} is missing in\n${text}`);
  return text.replaceAll(found, by);
}

/** Something that an agent does, as a row of the page's table. */
interface Told {
  readonly agent: AgentName;
  readonly event: string;
  readonly told: string;
}

/** The rows of the page's table of what agents do, as they stand there. */
export function rowsOnPage(): string[] {
  const table =
    /^\| event \| Codex \| Claude Code \| Qwen Code \| opencode \|\n\|---\|---\|---\|---\|---\|\n((?:\|.*\n)*)/m.exec(
      PAGE,
    );
  return table === null ? [] : table[1]!.trimEnd().split('\n');
}

/** The same rows as they have to be. */
export function rowsOf(seen: readonly Told[]): string[] {
  const cell = (event: string, agent: AgentName): string =>
    seen.find((each) => each.event === event && each.agent === agent)?.told ?? '';
  const events = [...new Set(seen.map(({ event }) => event))];
  return events.map((event) => `| ${event} | ${AGENTS.map((agent) => cell(event, agent)).join(' | ')} |`);
}
