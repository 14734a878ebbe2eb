import { CHAT_TABLE } from '../src/protocols/chat/state-references.ts';
import { MESSAGES_TABLE } from '../src/protocols/messages/state-references.ts';
import type { Rule } from '../src/protocols/request-rules.ts';
import { CONTENT_OF_TYPE, RESPONSES_TABLE } from '../src/protocols/responses/state-references.ts';
import { COMMON, TOOLS } from '../src/protocols/tools.ts';
import { BLOCK_MEMBERS, STATE_AT_TOP } from '../src/protocols/top-members.ts';
import { writeLastPart } from './generated-doc.ts';
import { markdownTable } from './markdown.ts';

/** Writes the tables of `docs/provider-state.md` from the tables of the code. */

type Rules = Readonly<Record<string, Rule>>;

/** The paths of members that `what` selects. */
function paths(rules: Rules, what: (rule: Rule) => string | null, path = ''): string[] {
  // The common members of blocks have their own row.
  const own = Object.entries(rules).filter(([name, rule]) => rules === BLOCK_MEMBERS || rule !== BLOCK_MEMBERS[name]);
  return own.flatMap(([name, rule]) => pathsOf(rule, what, path === '' ? name : `${path}.${name}`));
}

function pathsOf(rule: Rule, what: (rule: Rule) => string | null, path: string): string[] {
  const found = what(rule);
  const own = found === null ? [] : [found === '' ? `\`${path}\`` : `\`${path}\` (${found})`];
  if (typeof rule === 'string') return own;
  const { items, members } = rule;
  const inItems = items === undefined || found !== null ? [] : pathsOf(items, what, `${path}[]`);
  return [...own, ...(members === undefined ? [] : paths(members.rules, what, path)), ...inItems];
}

const state = (rule: Rule): string | null => {
  if (typeof rule === 'string') return null;
  const { text, any } = rule;
  const kind = any ?? (typeof text === 'object' ? text.state : null);
  return kind === null ? null : kind.replace('_', ' ');
};
const model = (rule: Rule): string | null => (rule === 'model' ? '' : null);
const server = (rule: Rule): string | null => (typeof rule === 'object' && rule.text === 'server' ? '' : null);
const plain = (rule: Rule): string | null =>
  rule === 'setting' || rule === 'content' || rule === 'tools' || (typeof rule === 'object' && rule.items === undefined)
    ? ''
    : null;

const listed = (texts: readonly string[]): string => [...new Set(texts)].join(', ');

const tools = Object.entries(TOOLS).map(
  ([
    type,
    {
      runs,
      isPriced,
      members: { rules },
    },
  ]) => {
    const refers = paths(rules, state);
    const more = [
      ...(paths(rules, model).length === 0 ? [] : [`names models: ${listed(paths(rules, model))}`]),
      ...(paths(rules, server).length === 0 ? [] : [`a server on the internet: ${listed(paths(rules, server))}`]),
    ];
    const others =
      runs === 'client'
        ? 'any'
        : listed(
            Object.keys(rules)
              .filter((name) => plain(rules[name]!) !== null && !Object.hasOwn(COMMON, name))
              .map((name) => `\`${name}\``),
          );
    return [`\`${type}\``, runs, listed(refers), more.join('; '), others, isPriced ? 'yes' : ''];
  },
);

const tops = [
  ['all', listed(paths(STATE_AT_TOP, state))],
  ['all, in blocks of content', listed(paths(BLOCK_MEMBERS, state))],
  ...(
    [
      ['chat', CHAT_TABLE],
      ['messages', MESSAGES_TABLE],
      ['responses, compact', RESPONSES_TABLE],
    ] as const
  ).map(([protocol, { top, readBy }]) => {
    const own = Object.fromEntries(Object.entries(top.rules).filter(([name]) => !Object.hasOwn(STATE_AT_TOP, name)));
    const inner = Object.entries(readBy).flatMap(([name, { members }]) =>
      paths(members.rules, state, name === 'item' ? 'input[]' : name === 'block' ? 'block' : 'container.skills[]'),
    );
    return [protocol, listed([...paths(own, state), ...inner])];
  }),
];

const items = [...CONTENT_OF_TYPE].flatMap(([type, needed]) =>
  needed === 'complete'
    ? []
    : [[`\`${type}\``, needed.length === 0 ? 'always' : `without ${needed.map((name) => `\`${name}\``).join(' or ')}`]],
);

writeLastPart(
  'docs/provider-state.md',
  `
### Tools

A name stands for all versions of a tool: \`web_search\` also stands for \`web_search_20250305\` and \`web_search_preview_2025_03_11\`.
Every tool can have ${listed(Object.keys(COMMON).map((name) => `\`${name}\``))}.

${markdownTable(['type', 'run by', 'refers to state', 'what else is checked', 'other members', 'use may have a price'], tools)}

### Members that refer to state

${markdownTable(['protocol', 'members'], tops)}

### Items that are looked up by their id

${markdownTable(['type', 'when'], items)}
`,
);
